/**
 * One fault to put into the product. Package, function and condition identify it, not a line, so that it
 * survives changes around it; a change of the condition itself makes it stale, and the list's test says so.
 */
export interface Mutant {
  /** Unique, for `--only` and for the report: `group/relay-before-announcement`. */
  readonly id: string;
  /** Folder of the package whose source it changes: `packages/group`. */
  readonly package: string;
  /** Language of the function (default: TypeScript). */
  readonly language?: 'C++';
  /** Qualified name of the function: `GroupMachine.blockArrived`, `Backup.#flush`, `planRecovery`, `ShmWire::enter`. */
  readonly function: string;
  /**
   * The expression or the statements to find in it, as source; white space and comments do not count. In C++, which is
   * not parsed, any sequence of tokens.
   */
  readonly find: string;
  /** The replacement; empty removes it. */
  readonly replace: string;
  /** The effect of the fault, in one sentence. */
  readonly fault: string;
  /** Test files that are expected to find it, from the repository's root. */
  readonly tests: readonly string[];
  /** Why no test can find it: the mutant is equivalent, or harmless for the given reason. */
  readonly survives?: string;
}
