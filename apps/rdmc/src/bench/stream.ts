import { setImmediate } from 'node:timers/promises';
import type { Operation } from './endpoint.js';
import { REGION_BYTES, SEND_DEPTH, TURN_MS } from './limits.js';
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

/** The requests of one round. */
class Round {
  #posted = 0;
  #completed = 0;
  readonly #signalEvery: number;
  readonly #flushEvery: number;
  readonly #places: number;

  constructor(
    private readonly pair: Pair,
    private readonly stream: Stream,
    private readonly messages: number,
  ) {
    const isLarge = stream.byteLength >= SIGNAL_ALL_FROM_BYTES;
    this.#signalEvery = isLarge ? 1 : SIGNAL_EVERY;
    this.#flushEvery = isLarge ? 1 : FLUSH_EVERY;
    this.#places = Math.floor(REGION_BYTES / stream.byteLength);
  }

  /**
   * Posts requests, and waits for their completions; returns the seconds. The event loop has turns while requests are in
   * progress: it handles Ctrl-C and the exit of the other process.
   */
  async run(): Promise<number> {
    const start = performance.now();
    for (;;) {
      if (this.#runSome()) break;
      await setImmediate();
      this.pair.check();
    }
    return (performance.now() - start) / 1000;
  }

  /** Goes on for about `TURN_MS`; returns whether all requests have completed. */
  #runSome(): boolean {
    const until = performance.now() + TURN_MS;
    while (this.#completed < this.messages && performance.now() < until) {
      this.#post();
      this.#completed = Math.min(this.messages, this.#completed + this.#awaitCompletions());
    }
    return this.#completed === this.messages;
  }

  #post(): void {
    const { endpoint, remote } = this.pair;
    const { operation, byteLength } = this.stream;
    const most = Math.min(this.messages, this.#completed + SEND_DEPTH);
    for (; this.#posted < most; this.#posted += 1) {
      const offset = (this.#posted % this.#places) * byteLength;
      const next = this.#posted + 1;
      const signaled = next % this.#signalEvery === 0 || next === this.messages;
      endpoint.begin(operation, byteLength, offset, signaled);
      if (operation !== 'send') endpoint.to(remote, offset);
      if (next % this.#flushEvery === 0) endpoint.flush();
    }
    endpoint.flush();
  }

  /** Returns the number of requests that have completed, at least one. */
  #awaitCompletions(): number {
    const { endpoint } = this.pair;
    let fresh = 0;
    endpoint.spinUntil(() => {
      fresh = endpoint.sent();
      return fresh > 0;
    });
    return fresh * this.#signalEvery;
  }
}

/** Runs one round. For SEND, the other process receives. */
async function runRound(pair: Pair, stream: Stream, messages: number): Promise<number> {
  pair.check();
  if (stream.operation !== 'send') {
    const seconds = await new Round(pair, stream, messages).run();
    // Short rounds do not have a turn of the event loop of their own.
    await setImmediate();
    return seconds;
  }
  const [running, done] = [pair.next('running'), pair.next('done')];
  done.catch(() => {});
  pair.command({ type: 'take', messages, byteLength: stream.byteLength });
  await running;
  const seconds = await new Round(pair, stream, messages).run();
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
