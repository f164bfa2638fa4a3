import { setImmediate } from 'node:timers/promises';
import type { Operation } from './endpoint.js';
import { REGION_BYTES, SEND_DEPTH } from './limits.js';
import type { Pair } from './pair.js';

/** Many requests of one kind. */
export interface Stream {
  readonly operation: Operation;
  readonly byteLength: number;
  /** Approximate duration. */
  readonly seconds: number;
}

export interface StreamResult {
  readonly messages: number;
  readonly seconds: number;
  /** Rate of the fastest round. */
  readonly peakMessagesPerSecond: number;
  readonly messagesPerSecond: number;
}

const ROUNDS = 5;
const TRIAL_SECONDS = 0.02;
/** One of this number of small requests is signalled. */
const SIGNAL_EVERY = 16;
const SIGNAL_ALL_FROM_BYTES = 64 << 10;
const FLUSH_EVERY = 16;

/** Posts `messages` requests and waits until all have completed; returns the seconds. */
function post(pair: Pair, { operation, byteLength }: Stream, messages: number): number {
  const { endpoint, remote } = pair;
  const signalEvery = byteLength >= SIGNAL_ALL_FROM_BYTES ? 1 : SIGNAL_EVERY;
  const flushEvery = byteLength >= SIGNAL_ALL_FROM_BYTES ? 1 : FLUSH_EVERY;
  const places = Math.floor(REGION_BYTES / byteLength);
  let posted = 0;
  let completed = 0;
  const start = performance.now();
  while (completed < messages) {
    const most = Math.min(messages, completed + SEND_DEPTH);
    for (; posted < most; posted += 1) {
      const offset = (posted % places) * byteLength;
      const signaled = (posted + 1) % signalEvery === 0 || posted + 1 === messages;
      endpoint.begin(operation, byteLength, offset, signaled);
      if (operation !== 'send') endpoint.to(remote, offset);
      if ((posted + 1) % flushEvery === 0) endpoint.flush();
    }
    endpoint.flush();
    let fresh = 0;
    endpoint.spinUntil(() => {
      fresh = endpoint.sent();
      return fresh > 0;
    });
    completed = Math.min(messages, completed + fresh * signalEvery);
  }
  return (performance.now() - start) / 1000;
}

/** Runs one round. For SEND, the other process receives. */
async function runRound(pair: Pair, stream: Stream, messages: number): Promise<number> {
  pair.check();
  if (stream.operation !== 'send') {
    const seconds = post(pair, stream, messages);
    // Lets the event loop handle Ctrl-C and the exit of the other process.
    await setImmediate();
    return seconds;
  }
  const [running, done] = [pair.next('running'), pair.next('done')];
  done.catch(() => {});
  pair.command({ type: 'take', messages, byteLength: stream.byteLength });
  await running;
  const seconds = post(pair, stream, messages);
  await done;
  return seconds;
}

/** Number of messages that take about `seconds`, found by trials. */
async function calibrate(pair: Pair, stream: Stream, seconds: number): Promise<number> {
  let messages = SIGNAL_EVERY;
  let took = await runRound(pair, stream, messages);
  while (took < TRIAL_SECONDS) {
    messages *= 4;
    took = await runRound(pair, stream, messages);
  }
  return Math.max(SIGNAL_EVERY, Math.round((messages * seconds) / took));
}

/** Runs a stream of requests for about its `seconds`. */
export async function runStream(pair: Pair, stream: Stream): Promise<StreamResult> {
  const messages = await calibrate(pair, stream, stream.seconds / ROUNDS);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await runRound(pair, stream, messages));
  const seconds = times.reduce((sum, time) => sum + time, 0);
  return {
    messages: messages * ROUNDS,
    seconds,
    peakMessagesPerSecond: messages / Math.min(...times),
    messagesPerSecond: (messages * ROUNDS) / seconds,
  };
}
