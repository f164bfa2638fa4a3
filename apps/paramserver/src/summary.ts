import type { ChannelCounters } from '@rdmc/hipower';
import type { IterationReport } from './settings.js';

/** Costs of one iteration. Times in milliseconds. */
export interface IterationResult {
  /** Number of the iteration. */
  readonly iteration: number;
  /** From the first process's start to the last worker's having every sum. */
  readonly completionMs: number;
  /** Messages: blocks to the server, and sums to each worker. */
  readonly messages: number;
  /** Messages divided by the completion time. */
  readonly messagesPerSecond: number;
  /** Processor time of the server's process. */
  readonly serverCpuMs: number;
  /** Processor time of all workers' processes. */
  readonly workersCpuMs: number;
  /** Processor time of the soft device's own threads, in all processes. */
  readonly nicCpuMs: number;
  /** Bitmap READs and looks at pushed bitmaps, of all sides, per message; and the share of fruitless ones. */
  readonly looksPerMessage: number;
  /** The share of looks that showed nothing new. */
  readonly fruitlessShare: number;
  /** READs over the network alone. */
  readonly readsPerMessage: number;
  /** Counters at its end, from which the next iteration's are subtracted. */
  readonly totals: Totals;
}

interface Totals {
  readonly reads: number;
  readonly looks: number;
  readonly fruitless: number;
}

export function iterationResult(
  iteration: number,
  blocks: number,
  reports: readonly IterationReport[],
  earlier: readonly IterationResult[],
): IterationResult {
  const [server, ...workers] = reports;
  const started = Math.min(...reports.map(({ startedAt }) => startedAt));
  const ended = Math.max(...workers.map(({ endedAt }) => endedAt));
  const messages = 2 * blocks * workers.length;
  const totals = totalsOf(reports.flatMap(({ sent, received }) => [sent, received]));
  const before = earlier.at(-1)?.totals ?? { reads: 0, looks: 0, fruitless: 0 };
  const looks = totals.reads + totals.looks - before.reads - before.looks;
  const milliseconds = (seconds: readonly number[]): number => 1000 * seconds.reduce((sum, s) => sum + s, 0);
  return {
    iteration,
    completionMs: ended - started,
    messages,
    messagesPerSecond: (1000 * messages) / (ended - started),
    serverCpuMs: milliseconds([server!.usage.cpu]),
    workersCpuMs: milliseconds(workers.map(({ usage }) => usage.cpu)),
    nicCpuMs: milliseconds(reports.map(({ usage }) => usage.nic)),
    looksPerMessage: looks / messages,
    fruitlessShare: looks === 0 ? 0 : (totals.fruitless - before.fruitless) / looks,
    readsPerMessage: (totals.reads - before.reads) / messages,
    totals,
  };
}

function totalsOf(counters: readonly ChannelCounters[]): Totals {
  const sum = (pick: (one: ChannelCounters) => number): number =>
    counters.reduce((total, one) => total + pick(one), 0);
  return {
    reads: sum(({ reads }) => reads),
    looks: sum(({ looks }) => looks),
    fruitless: sum(({ fruitlessReads, fruitlessLooks }) => fruitlessReads + fruitlessLooks),
  };
}

/** The middle one of each number. */
export function median(
  results: readonly IterationResult[],
  pick: (result: IterationResult) => number,
): number {
  const sorted = results.map(pick).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
