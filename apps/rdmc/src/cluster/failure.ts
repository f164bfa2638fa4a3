import { RdmcError } from '@rdmc/common';
import { CliError, codeOf, exitCodeOf, isConsequence, messageOf } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { afterCauseGrace } from './cause-grace.js';
import type { Ending } from './member-process.js';

const RESTART = 'all others were stopped and their files removed; run it again';

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'free some space, or set TMPDIR to a larger file system',
  EDQUOT: 'the disk quota is used up: free some space, or set TMPDIR elsewhere',
  EACCES: 'set TMPDIR to a folder that you may write to',
  EROFS: 'set TMPDIR to a folder that you may write to',
  ERR_RDMC_OUT_OF_MEMORY: 'use a smaller --size or fewer --members',
};

/** An error that another process caused: it need not be the first failure. */
class Consequence extends RdmcError {}

/** The failure that a member reported before it ended. */
export function reportedFailure(who: string, code: string, message: string): Error {
  if (isConsequence({ code })) return new Consequence(code, message);
  const interrupted = code === 'ERR_RDMC_INTERRUPTED';
  return new CliError(interrupted ? 'ERR_RDMC_MEMBER_LOST' : code, `${who}: ${message}`, {
    exitCode: interrupted ? ExitCode.MEMBER_LOST : exitCodeOf({ code }),
    advice: ADVICE[code] ?? RESTART,
  });
}

/** The failure of a member that ended without a report. */
export function silentEnd(who: string, { exitCode, signal, stderr }: Ending): CliError {
  const how = signal ? `was killed by ${signal}` : `ended with exit code ${exitCode}`;
  const said = stderr ? `: ${stderr}` : '';
  return new CliError('ERR_RDMC_MEMBER_LOST', `${who} ${how}${said}`, {
    exitCode: ExitCode.MEMBER_LOST,
    advice: RESTART,
  });
}

/** Finds the first failure. A consequence is held back for a while, and is replaced by its cause. */
export class FirstFailure {
  #reject: (error: unknown) => void = () => {};
  /** Cancels the consequence that is held back. */
  #release: (() => void) | undefined;
  #closed = false;
  /** Rejects with the cause; pending until something fails. */
  readonly failure: Promise<never>;

  constructor() {
    this.failure = new Promise<never>((_, reject) => {
      this.#reject = reject;
    });
    this.failure.catch(() => {});
  }

  report(error: unknown): void {
    if (this.#closed) return;
    if (error instanceof CliError || !isConsequence(error)) {
      this.#reject(error);
      this.close();
    } else if (!this.#release) this.#holdBack(codeOf(error)!, error);
  }

  /** Ignores all further failures. */
  close(): void {
    this.#closed = true;
    this.#release?.();
  }

  #holdBack(code: string, cause: unknown): void {
    const exitCode = exitCodeOf(cause);
    const consequence = new CliError(code, messageOf(cause), { exitCode, advice: RESTART, cause });
    this.#release = afterCauseGrace(() => this.#reject(consequence));
  }
}
