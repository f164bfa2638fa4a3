import type { Verdict } from './verdict.js';

const WANTED_SHARE = 0.95;

export interface Report {
  readonly killed: number;
  readonly survived: number;
  readonly explained: number;
  readonly passed: boolean;
}

/** Passed: 95% killed, and each survivor's entry in the list says why it survives. */
export function reportOf(verdicts: readonly Verdict[]): Report {
  const survivors = verdicts.filter((verdict) => verdict.outcome === 'survived');
  const explained = survivors.filter((verdict) => verdict.mutant.survives !== undefined).length;
  const killed = verdicts.length - survivors.length;
  const passed = explained === survivors.length && killed >= verdicts.length * WANTED_SHARE;
  return { killed, survived: survivors.length, explained, passed };
}

export function lineOf({ mutant, outcome, how, seconds }: Verdict): string {
  const head = `${outcome.padEnd(8)} ${mutant.id} (${how}, ${seconds.toFixed(1)} s)`;
  if (outcome === 'killed') return head;
  return `${head}\n         fault: ${mutant.fault}\n         ${mutant.survives ?? 'not explained'}`;
}
