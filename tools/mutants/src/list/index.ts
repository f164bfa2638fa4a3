import type { Mutant } from '../mutant.js';
import { group } from './group.js';

/** Every mutant of the repository. */
export const MUTANTS: readonly Mutant[] = [...group];
