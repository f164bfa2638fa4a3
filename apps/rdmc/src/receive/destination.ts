import { usageError } from '../errors.js';
import type { ExecOption } from './options.js';

const EXEC_TIMEOUT_MS = 5 * 60_000;

/** The options that say where files go, and what runs afterwards. */
export interface DestinationOptions {
  readonly dir?: string | undefined;
  readonly mkdir: boolean;
  readonly stdout: boolean;
  readonly exec?: readonly string[] | undefined;
  readonly execTimeout?: number | undefined;
  readonly fsync: boolean;
  readonly json: boolean;
}

/** @throws CliError ERR_RDMC_USAGE where files go to a directory and to standard output, or to neither */
export function checkDestination({ dir, mkdir, stdout, exec, fsync, json }: DestinationOptions): void {
  if (!stdout && dir === undefined)
    throw usageError('--dir is missing', 'give the receiving directory: --dir DIR; or --stdout');
  if (!stdout) return;
  const given = { '--dir': dir, '--mkdir': mkdir, '--exec': exec, '--no-fsync': !fsync, '--json': json };
  const other = Object.entries(given).find(([, value]) => value !== undefined && value !== false)?.[0];
  if (other === undefined) return;
  const advice = other === '--json' ? 'events are on stderr with --log-json' : 'remove one of them';
  throw usageError(`--stdout and ${other} exclude each other`, advice);
}

/** @throws CliError ERR_RDMC_USAGE where the command is missing */
export function execOf({ exec, execTimeout }: DestinationOptions): ExecOption | undefined {
  if (exec === undefined) {
    if (execTimeout === undefined) return undefined;
    throw usageError('--exec-timeout applies only to --exec', 'add --exec COMMAND behind it');
  }
  if (exec.length === 0)
    throw usageError('--exec: the command is missing', 'give it at the end: --exec COMMAND [ARG…]');
  return { argv: exec, timeoutMs: execTimeout ?? EXEC_TIMEOUT_MS };
}
