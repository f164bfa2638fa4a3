import type { Mutant } from './mutant.js';

/** Place of a mutant's condition, and the changed file. */
export interface Place {
  /** From the repository's root. */
  readonly file: string;
  readonly mutated: string;
}

export interface Found {
  readonly file: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The mutant is stale: its function or its condition does not exist, or occurs more than once. */
export class StaleMutant extends Error {
  override readonly name = 'StaleMutant';
}

export function stale(mutant: Mutant, what: string): StaleMutant {
  return new StaleMutant(
    `${mutant.id}: ${mutant.package} ${what}; change the list in tools/mutants/src/list`,
  );
}

/** @throws StaleMutant: the condition was not found once */
export function placeAt(mutant: Mutant, found: readonly Found[]): Place {
  if (found.length !== 1) throw stale(mutant, `has ${found.length} places like «${mutant.find}», not one`);
  const [{ file, text, start, end }] = found as [Found];
  return { file, mutated: `${text.slice(0, start)}${mutant.replace}${text.slice(end)}` };
}
