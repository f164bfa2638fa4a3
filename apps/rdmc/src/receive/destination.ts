import { usageError } from '../errors.js';
import type { ExecOption } from './options.js';

const EXEC_TIMEOUT_MS = 5 * 60_000;

/** The options that say where files go, and what runs afterwards. */
export interface DestinationOptions {
  readonly dir?: string | undefined;
  readonly mkdir: boolean;
  readonly stdout: boolean;
  readonly shm?: string | undefined;
  readonly exec?: readonly string[] | undefined;
  readonly execTimeout?: number | undefined;
  readonly fsync: boolean;
  readonly resume: boolean;
  readonly resumeLimit?: number | string | undefined;
  readonly archive: boolean;
  readonly json: boolean;
}

/** @throws CliError ERR_RDMC_USAGE where files go to more than one of directory, standard output and memory, or to none */
export function checkDestination(options: DestinationOptions): void {
  const { dir, mkdir, stdout, shm, exec, fsync, json, resume, resumeLimit, archive } = options;
  if (!stdout && shm === undefined && dir === undefined)
    throw usageError(
      '--dir is missing',
      'give the receiving directory: --dir DIR; or --stdout, or --shm NAME',
    );
  if (!stdout && shm === undefined) return;
  const resuming = { '--no-resume': !resume, '--resume-limit': resumeLimit };
  const given = {
    ...{ '--dir': dir, '--mkdir': mkdir, '--no-fsync': !fsync, '--archive': archive },
    ...resuming,
    ...(stdout && { '--shm': shm, '--exec': exec, '--json': json }),
  };
  const other = Object.entries(given).find(([, value]) => value !== undefined && value !== false)?.[0];
  if (other === undefined) return;
  const advice = other === '--json' ? 'events are on stderr with --log-json' : 'remove one of them';
  throw usageError(`${stdout ? '--stdout' : '--shm'} and ${other} exclude each other`, advice);
}

/** The directory that --clean cleans. @param others options that need a receiver, by their names @throws CliError ERR_RDMC_USAGE where it is missing, or where an option contradicts */
export function checkClean(
  { dir, stdout, shm, exec, mkdir, resume, resumeLimit, archive }: DestinationOptions,
  others: Readonly<Record<string, unknown>>,
): string {
  const resuming = { '--no-resume': !resume, '--resume-limit': resumeLimit };
  const given = {
    '--stdout': stdout,
    '--shm': shm,
    '--exec': exec,
    '--mkdir': mkdir,
    '--archive': archive,
    ...resuming,
    ...others,
  };
  const other = Object.entries(given).find(([, value]) => value !== undefined && value !== false)?.[0];
  if (other !== undefined) throw usageError(`--clean and ${other} exclude each other`, 'remove one of them');
  if (dir === undefined) throw usageError('--dir is missing', 'give the receiving directory: --dir DIR');
  return dir;
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
