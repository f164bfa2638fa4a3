/**
 * What kind of failure an error is, for programs that treat all of a kind alike: exit codes, retries, alerts.
 *
 * - `usage`: the call or its options are wrong; calling again does not help
 * - `peer-lost`: another member, or the way to it, has failed
 * - `timeout`: something did not happen in time
 * - `refused`: another party says no, or broke the rules: a wrong key, a fenced log, versions that differ
 * - `resource`: memory, descriptors, disk space or a device are missing, or busy
 * - `closed`: used after the end
 * - `aborted`: ended by the caller's signal
 * - `internal`: none of these; a bug, as far as can be told
 */
export type ErrorCategory =
  | 'usage'
  | 'peer-lost'
  | 'timeout'
  | 'refused'
  | 'resource'
  | 'closed'
  | 'aborted'
  | 'internal';

/** What is known of a code: its category, what it means, and what to do about it. */
export type ErrorFacts = readonly [category: ErrorCategory, meaning: string, advice: string];

/** The codes of a package. */
export type ErrorTable<Code extends string = string> = Readonly<Record<Code, ErrorFacts>>;

/** Categories of the codes of all packages that are loaded: codes travel between members and threads without their class. */
const categories = new Map<string, ErrorCategory>();

/** Makes the table of a package's codes, with their names as types. */
export function errorTable<const Code extends string>(table: ErrorTable<Code>): ErrorTable<Code> {
  for (const [code, [category]] of Object.entries<ErrorFacts>(table)) categories.set(code, category);
  return table;
}

/** The category of a code that came without its error; `internal` where no package that is loaded has it. */
export function categoryOf(code: string): ErrorCategory {
  return categories.get(code) ?? 'internal';
}

/** Whether a code that came from elsewhere, by a wire or a thread, is of this table. */
export function isCodeOf<Code extends string>(table: ErrorTable<Code>, code: unknown): code is Code {
  return typeof code === 'string' && Object.hasOwn(table, code);
}

/** What an {@link RdmcError} knows beside its code and message. */
export interface RdmcErrorDetails {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** The member that the error is about. */
  readonly memberId?: number | undefined;
}

/** The base of all errors of the packages. Tell cases apart by `code`, kinds by `category`. */
export class RdmcError<Code extends string = string> extends Error {
  override readonly name: string = 'RdmcError';
  /** Stable; messages are not. */
  readonly code: Code;
  /** The kind of failure, for programs that treat all errors of a kind alike. */
  readonly category: ErrorCategory;
  /** The member that the error is about, if it is about one. */
  readonly memberId: number | undefined;

  constructor(code: Code, message: string, { cause, memberId }: RdmcErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.category = categoryOf(code);
    this.memberId = memberId;
  }
}
