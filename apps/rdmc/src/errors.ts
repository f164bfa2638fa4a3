import { AbortError, categoryOf, codeOf, errorTable, messageOf, RdmcError, systemReason } from '@rdmc/common';
import { ExitCode } from './exit-codes.js';

export { codeOf, messageOf, systemReason };

/** The command's own codes. Those of the packages below and of the system pass through. */
export const cliErrors = errorTable({
  ERR_RDMC_USAGE: ['usage', 'the command line is wrong', 'see --help'],
  ERR_RDMC_VERIFY_FAILED: [
    'internal',
    'a received file differs from the one sent',
    'check the memory of the hosts, and report it',
  ],
  ERR_RDMC_MEMBER_LOST: ['peer-lost', 'a process of the group ended', 'run it again'],
  ERR_RDMC_OUT_OF_MEMORY: ['resource', 'there is too little memory', 'free some, or raise the limit'],
  ERR_RDMC_INTERRUPTED: ['aborted', 'Ctrl-C, SIGTERM or SIGHUP', 'nothing: the user ended it'],
  ERR_RDMC_FILE: ['resource', 'a file cannot be read or written', 'see the message'],
  ERR_RDMC_DUPLICATE_HOST: [
    'usage',
    'a receiver is named twice, perhaps under two names',
    'name each receiver once',
  ],
  ERR_RDMC_UNKNOWN_HOST: ['peer-lost', 'a name does not resolve', 'check it, or give the address'],
  ERR_RDMC_KEY_REQUIRED: ['usage', 'an address beyond loopback needs a key', 'give all the same key'],
  ERR_RDMC_INVALID_KEY: [
    'usage',
    'a key is too short, or is not a key, or others can read its file',
    'make one: rdmc key FILE',
  ],
  ERR_RDMC_WRONG_ROLE: [
    'usage',
    'a key is for fetching only',
    'give the key that it was made from, or use it with `fetchFiles` (`rdmc fetch`)',
  ],
  ERR_RDMC_REMOTE_START: ['peer-lost', 'a receiver did not start', 'try the same by hand'],
  ERR_RDMC_VERSION_MISMATCH: [
    'refused',
    'the two ends have different versions',
    'run the same version at both',
  ],
  ERR_RDMC_COMMAND_FAILED: [
    'resource',
    'the command of `rdmc receive --exec` failed after everything was stored',
    'see its exit code and its output at the receiver',
  ],
  ERR_RDMC_COMMAND_TIMEOUT: [
    'timeout',
    'the command of `rdmc receive --exec` took too long, and was killed',
    'find why it hangs, or raise --exec-timeout',
  ],
  ERR_RDMC_SELF_TEST: ['internal', 'the WRITE of the doctor failed', 'see `rdmc doctor`'],
  ERR_RDMC_UNEXPECTED: ['internal', 'a defect', 'please report it with the stack'],
});

export interface CliErrorDetails {
  readonly exitCode?: ExitCode;
  /** What to do next; printed on a separate line. */
  readonly advice?: string;
  readonly cause?: unknown;
}

/** An error for the user: what was found, and what to do. */
export class CliError extends RdmcError {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  readonly advice: string | undefined;

  constructor(code: string, message: string, { exitCode, advice, cause }: CliErrorDetails = {}) {
    super(code, message, { cause });
    this.exitCode = exitCode ?? exitCodeOfCode(code);
    this.advice = advice;
  }
}

/** @param advice what to do, as for {@link CliErrorDetails.advice} */
export function usageError(message: string, advice?: string): CliError {
  return new CliError('ERR_RDMC_USAGE', message, advice ? { advice } : {});
}

/**
 * The error of a system call on a file: its errno code, and the operation that failed, with the path once.
 * @param what for example: `cannot read the key file PATH`
 */
export function fileError(
  what: string,
  cause: unknown,
  details: Omit<CliErrorDetails, 'cause'> = {},
): CliError {
  return new CliError(codeOf(cause) ?? 'ERR_RDMC_FILE', `${what}: ${systemReason(cause)}`, {
    ...details,
    cause,
  });
}

/** Codes with another exit code than their category, for scripts. */
const OWN_EXIT_CODES: Readonly<Record<string, ExitCode>> = {
  ENOSPC: ExitCode.NO_SPACE,
  EDQUOT: ExitCode.NO_SPACE,
  EFBIG: ExitCode.NO_SPACE,
  ENOMEM: ExitCode.NO_SPACE,
  ERR_RDMC_OUT_OF_MEMORY: ExitCode.NO_SPACE,
  ERR_RDMC_NO_SPACE: ExitCode.NO_SPACE,
  ERR_RDMC_HASH_MISMATCH: ExitCode.VERIFICATION_FAILED,
  ERR_RDMC_DECRYPT_FAILED: ExitCode.VERIFICATION_FAILED,
  ERR_RDMC_DECOMPRESS_FAILED: ExitCode.VERIFICATION_FAILED,
  ERR_RDMC_VERIFY_FAILED: ExitCode.VERIFICATION_FAILED,
  ERR_RDMC_PARTIAL: ExitCode.PARTIAL,
};

function exitCodeOfCode(code: string): ExitCode {
  const own = OWN_EXIT_CODES[code];
  if (own !== undefined) return own;
  const category = categoryOf(code);
  if (category === 'peer-lost') return ExitCode.MEMBER_LOST;
  return category === 'usage' ? ExitCode.USAGE : ExitCode.FAILURE;
}

/** Whether an error only reports that another process failed. */
export function isConsequence(error: unknown): boolean {
  return categoryOf(codeOf(error) ?? '') === 'peer-lost';
}

/** The reason of the signal where the user ended the call; else the error. */
export function withoutAbort(error: unknown): unknown {
  return error instanceof AbortError && error.cause instanceof CliError ? error.cause : error;
}

/** The exit code of the command for an error of any layer. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof CliError ? error.exitCode : exitCodeOfCode(codeOf(error) ?? '');
}

/** The error as a plain object, for `--json`. */
export function errorDocument(error: unknown): {
  code: string;
  message: string;
  advice: string | null;
  exitCode: number;
} {
  return {
    code: codeOf(error) ?? 'ERR_RDMC_UNEXPECTED',
    message: messageOf(error),
    advice: error instanceof CliError ? (error.advice ?? null) : null,
    exitCode: exitCodeOf(error),
  };
}
