import { setImmediate } from 'node:timers/promises';
import type { Operation } from './endpoint.js';
import { LatencyWord, OUTGOING_OFFSET } from './latency-word.js';
import { SEND_DEPTH, TURN_MS } from './limits.js';
import type { Pair } from './pair.js';

export interface LatencyResult {
  readonly rounds: number;
  /** One way for write and send (half a round trip), the whole operation for read. Seconds. */
  readonly minimum: number;
  readonly median: number;
  readonly average: number;
  readonly p99: number;
  readonly p999: number;
  readonly maximum: number;
}

const SIGNAL_EVERY = SEND_DEPTH / 2;
/** The first tenth is warm-up. */
const WARM_SHARE = 0.1;

function summarise(times: readonly number[]): LatencyResult {
  const sorted = times.slice(Math.floor(times.length * WARM_SHARE)).sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return {
    rounds: sorted.length,
    minimum: sorted[0]!,
    median: at(0.5),
    average: sorted.reduce((sum, time) => sum + time, 0) / sorted.length,
    p99: at(0.99),
    p999: at(0.999),
    maximum: sorted[sorted.length - 1]!,
  };
}

/** Runs one request, and returns its seconds. */
type Round = (round: number) => number;

/** Runs requests for about `TURN_MS`, at most up to the last one. Synchronous, so that all of it is compiled for speed. */
function runSome(times: number[], rounds: number, once: Round): void {
  const until = performance.now() + TURN_MS;
  while (times.length < rounds && performance.now() < until) times.push(once(times.length + 1));
}

/** Runs all requests. Between them, outside of the measured times, the event loop handles Ctrl-C. */
async function runRounds(pair: Pair, rounds: number, once: Round): Promise<number[]> {
  const times: number[] = [];
  while (times.length < rounds) {
    runSome(times, rounds, once);
    await setImmediate();
    pair.check();
  }
  return times;
}

/** Ping-pong by WRITE, detected by polling memory, or by SEND, detected by polling the completion queue. */
async function pingPong(
  pair: Pair,
  operation: 'write' | 'send',
  byteLength: number,
  rounds: number,
): Promise<number[]> {
  const { endpoint, remote } = pair;
  const word = new LatencyWord(endpoint.region, byteLength);
  word.clear();
  const [running, done] = [pair.next('running'), pair.next('done')];
  done.catch(() => {});
  const own = endpoint.region.remote(0);
  pair.command({ type: 'answer', operation, rounds, byteLength, remote: own });
  await running;
  const times = await runRounds(pair, rounds, (round) => {
    if (operation === 'send') endpoint.beginReceive(byteLength, 0);
    endpoint.flush();
    const start = performance.now();
    word.prepare(round);
    const signaled = round % SIGNAL_EVERY === 0;
    endpoint.begin(operation, byteLength, OUTGOING_OFFSET, signaled);
    if (operation !== 'send') endpoint.to(remote);
    endpoint.flush();
    if (operation === 'write') endpoint.spinUntil(() => word.holds(round));
    else endpoint.spinUntil(() => endpoint.received() > 0);
    const seconds = (performance.now() - start) / 2000;
    if (signaled) endpoint.spinUntil(() => endpoint.sent() > 0);
    return seconds;
  });
  await done;
  return times;
}

function repeatRead(pair: Pair, byteLength: number, rounds: number): Promise<number[]> {
  const { endpoint, remote } = pair;
  return runRounds(pair, rounds, () => {
    const start = performance.now();
    endpoint.begin('read', byteLength, 0, true);
    endpoint.to(remote);
    endpoint.flush();
    endpoint.spinUntil(() => endpoint.sent() > 0);
    return (performance.now() - start) / 1000;
  });
}

/** @param byteLength a multiple of 4 */
export async function measureLatency(
  pair: Pair,
  operation: Operation,
  byteLength: number,
  rounds: number,
): Promise<LatencyResult> {
  pair.check();
  const times =
    operation === 'read'
      ? await repeatRead(pair, byteLength, rounds)
      : await pingPong(pair, operation, byteLength, rounds);
  return summarise(times);
}
