import type { FilterRule } from './filter-rule.js';
import { Pattern } from './pattern.js';

/** Rules in order: the first one that matches an entry decides. Without a match, the entry takes part. */
export class Filter {
  readonly #rules: readonly { readonly pattern: Pattern; readonly excludes: boolean }[];

  /** @throws CastError ERR_RDMC_INVALID_PATTERN */
  constructor(rules: readonly FilterRule[]) {
    this.#rules = rules.map(({ action, pattern }) => ({
      pattern: new Pattern(pattern),
      excludes: action === 'exclude',
    }));
  }

  /** Whether an entry is left out. What is in an excluded directory is left out too, without a look at it. */
  excludes(path: Buffer, isDirectory: boolean): boolean {
    if (this.#rules.length === 0) return false;
    const text = path.toString('latin1');
    return this.#rules.find(({ pattern }) => pattern.matches(text, isDirectory))?.excludes ?? false;
  }
}
