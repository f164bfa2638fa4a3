import { codeOf, messageOf } from '@rdmc/common';
import type { MeshErrorCode } from '@rdmc/mesh';
import { ExitCode } from './exit-codes.js';

export { codeOf, messageOf };

export interface CliErrorDetails {
  readonly exitCode?: ExitCode;
  /** What to do next; printed on a line of its own. */
  readonly advice?: string;
  readonly cause?: unknown;
}

/** An error that is told to the person at the terminal: what was found, and what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  readonly advice: string | undefined;

  constructor(
    readonly code: string,
    message: string,
    { exitCode = ExitCode.FAILURE, advice, cause }: CliErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
    this.advice = advice;
  }
}

/** @param advice what to do, as for {@link CliErrorDetails.advice} */
export function usageError(message: string, advice?: string): CliError {
  return new CliError('ERR_RDMC_USAGE', message, { exitCode: ExitCode.USAGE, ...(advice && { advice }) });
}

const OPTION_CODES =
  /^ERR_RDMC_(INVALID_|UNKNOWN_(OPTION|ALGORITHM|DEVICE)|DUPLICATE_(HOST|NAME)$|KEY_REQUIRED$)/;
/** Of the mesh: what the options it was given said. */
const MESH_OPTION_CODES: readonly MeshErrorCode[] = [
  'ERR_RDMC_MESH_INVALID_OPTION',
  'ERR_RDMC_MESH_INVALID_ARGUMENT',
  'ERR_RDMC_MESH_DUPLICATE_MEMBER',
  'ERR_RDMC_MESH_WEAK_KEY',
  'ERR_RDMC_MESH_KEY_REQUIRED',
];
const SPACE_CODES = ['ENOSPC', 'EDQUOT', 'EFBIG', 'ENOMEM', 'ERR_RDMC_OUT_OF_MEMORY', 'ERR_RDMC_NO_SPACE'];
/** Codes that say that another member failed. */
const LOST_CODES = [
  'ERR_RDMC_MEMBER_LOST',
  'ERR_RDMC_CLOSE_UNKNOWN',
  'ERR_RDMC_MESH_JOIN_ABORTED',
  'ERR_RDMC_MESH_MEMBER_LOST',
  'ERR_RDMC_MESH_MEMBER_SILENT',
  'ERR_RDMC_MESH_MEMBER_REPORTED',
  'ERR_RDMC_CAST_UNREACHABLE',
  'ERR_RDMC_NO_RECEIVERS',
  'ERR_RDMC_RECEIVER_LOST',
  'ERR_RDMC_RECEIVER_STALLED',
  'ERR_RDMC_REMOTE_START',
  'ERR_RDMC_SENDER_LOST',
  'ERR_RDMC_UNKNOWN_HOST',
];

/** Whether an error only tells that somebody else failed. */
export function isConsequence(error: unknown): boolean {
  return LOST_CODES.includes(codeOf(error) ?? '');
}

function isOptionCode(code: string): boolean {
  return OPTION_CODES.test(code) || (MESH_OPTION_CODES as readonly string[]).includes(code);
}

/** Which exit code an error of any layer ends the command with. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode;
  const code = codeOf(error) ?? '';
  if (SPACE_CODES.includes(code)) return ExitCode.NO_SPACE;
  if (isConsequence(error)) return ExitCode.MEMBER_LOST;
  if (code === 'ERR_RDMC_HASH_MISMATCH') return ExitCode.VERIFICATION_FAILED;
  if (code === 'ERR_RDMC_PARTIAL') return ExitCode.PARTIAL;
  return isOptionCode(code) ? ExitCode.USAGE : ExitCode.FAILURE;
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
