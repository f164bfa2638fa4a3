import { CliError, codeOf, exitCodeOf, messageOf } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import type { Ending } from './member-process.js';

/** How long after a consequence its cause is waited for: the cause's own report may be on its way. */
const CAUSE_GRACE_MS = 500;

const RESTART = 'all others were stopped and their files removed; run it again';

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'free some space, or set TMPDIR to a larger file system',
  EDQUOT: 'the disk quota is used up: free some space, or set TMPDIR elsewhere',
  EACCES: 'set TMPDIR to a folder that you may write to',
  EROFS: 'set TMPDIR to a folder that you may write to',
  ERR_RDMC_OUT_OF_MEMORY: 'use a smaller --size or fewer --members',
};

/** Codes that say that somebody else failed. */
const CONSEQUENCES = ['ERR_RDMC_MEMBER_LOST', 'ERR_RDMC_CLOSE_UNKNOWN', 'ERR_RDMC_MESH_JOIN_ABORTED'];

export function isConsequence(error: unknown): boolean {
  return CONSEQUENCES.includes(codeOf(error) ?? '');
}

/** What a member said about itself before it ended. */
export function reportedFailure(who: string, code: string, message: string): CliError {
  const interrupted = code === 'ERR_RDMC_INTERRUPTED';
  return new CliError(interrupted ? 'ERR_RDMC_MEMBER_LOST' : code, `${who}: ${message}`, {
    exitCode: interrupted ? ExitCode.MEMBER_LOST : exitCodeOf({ code }),
    advice: ADVICE[code] ?? RESTART,
  });
}

/** A member that ended without a word. */
export function silentEnd(who: string, { exitCode, signal, stderr }: Ending): CliError {
  const how = signal ? `was killed by ${signal}` : `ended with exit code ${exitCode}`;
  const said = stderr ? `: ${stderr}` : '';
  return new CliError('ERR_RDMC_MEMBER_LOST', `${who} ${how}${said}`, {
    exitCode: ExitCode.MEMBER_LOST,
    advice: RESTART,
  });
}

/** What went wrong first. A consequence is held back for a moment, and gives way to its cause. */
export class FailureDesk {
  #reject: (error: unknown) => void = () => {};
  #consequence: unknown;
  /** Rejects with the cause; pending as long as all is well. */
  readonly failure: Promise<never>;

  constructor() {
    this.failure = new Promise<never>((_, reject) => {
      this.#reject = reject;
    });
    this.failure.catch(() => {});
  }

  report(error: unknown): void {
    if (!isConsequence(error) || error instanceof CliError) this.#reject(error);
    else if (this.#consequence === undefined) this.#holdBack(error);
  }

  #holdBack(error: unknown): void {
    this.#consequence = error;
    const asItIs = new CliError(codeOf(error)!, messageOf(error), {
      exitCode: exitCodeOf(error),
      advice: RESTART,
      cause: error,
    });
    setTimeout(() => this.#reject(asItIs), CAUSE_GRACE_MS);
  }
}
