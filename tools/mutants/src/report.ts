import type { Verdict } from './verdict.js';

const WANTED_SHARE = 0.95;

export interface Report {
  /** Killed by a failed test. */
  readonly killed: number;
  readonly timedOut: number;
  /** Timed-out mutants that certainly hang: they count as killed. */
  readonly hung: number;
  readonly survived: number;
  readonly explained: number;
  readonly passed: boolean;
}

/** Passed: 95% were found, and each survivor's entry in the list says why it survives. */
export function reportOf(verdicts: readonly Verdict[]): Report {
  const of = (wanted: Verdict['outcome']): Verdict[] => verdicts.filter(({ outcome }) => outcome === wanted);
  const survivors = of('survived');
  const late = of('timed out');
  const explained = survivors.filter((verdict) => verdict.mutant.survives !== undefined).length;
  const killed = of('killed').length;
  const hung = late.filter(({ found }) => found).length;
  const passed = explained === survivors.length && killed + hung >= verdicts.length * WANTED_SHARE;
  return { killed, timedOut: late.length, hung, survived: survivors.length, explained, passed };
}

export function lineOf({ mutant, outcome, found, how, seconds }: Verdict): string {
  const head = `${outcome.padEnd(9)} ${mutant.id} (${how}, ${seconds.toFixed(1)} s)`;
  if (found) return head;
  const fault = `${head}\n          fault: ${mutant.fault}`;
  return outcome === 'survived' ? `${fault}\n          ${mutant.survives ?? 'not explained'}` : fault;
}

export function summaryOf(verdicts: readonly Verdict[]): string {
  const { killed, timedOut, hung, survived, explained } = reportOf(verdicts);
  return (
    `${verdicts.length} mutants: ${killed} killed by a failed test, ` +
    `${timedOut} timed out (${hung} of them hang, and count as killed), ` +
    `${survived} survived (${explained} explained)`
  );
}
