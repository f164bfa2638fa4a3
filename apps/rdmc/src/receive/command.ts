import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import type { ArrivedCast } from '@rdmc/cast';
import { onAbort } from '@rdmc/common';
import { CliError, systemReason, usageError } from '../errors.js';
import { endGroup, signalGroup } from '../process-group.js';
import { printable } from '../ui/printable.js';
import { formatSeconds } from '../ui/units.js';

/** How long a command may take to end after SIGTERM, before SIGKILL. */
const KILL_GRACE_MS = 5000;

/** A command that runs after each cast. */
export interface AfterCommand {
  /** Path of the program. */
  readonly program: string;
  readonly args: readonly string[];
  /** The receiving directory, in which the command runs. */
  readonly directory: string;
  readonly timeoutMs: number;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * The path of a command, as a shell finds it: a name without a slash is looked up in `PATH`.
 * @throws CliError ERR_RDMC_USAGE where there is no such program
 */
export async function findProgram(name: string, path = process.env.PATH ?? ''): Promise<string> {
  const places = name.includes('/')
    ? [resolve(name)]
    : path.split(delimiter).map((folder) => join(resolve(folder), name));
  for (const place of places) if (name !== '' && (await isExecutable(place))) return place;
  const where = name.includes('/') ? '' : ' in PATH';
  throw usageError(
    `--exec: ${JSON.stringify(name)} is not an executable file${where}`,
    'give the path of a program, and its arguments after it; a shell is not used',
  );
}

/** The facts of a cast for the command. Names are not in its arguments, where a name could be read as an option. */
export function environmentOf(
  { castId, from, names, files, bytes, unchangedFiles, removed }: ArrivedCast,
  directory: string,
  base: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const { RDMC_KEY: _, ...rest } = base;
  const only = names.length === 1 ? Buffer.from(names[0]!) : undefined;
  const isText = only?.equals(Buffer.from(only.toString('utf8'))) === true;
  return {
    ...rest,
    RDMC_CAST_ID: castId,
    RDMC_CAST_FROM: printable(from),
    RDMC_CAST_DIR: directory,
    RDMC_CAST_FILES: String(files),
    RDMC_CAST_BYTES: String(bytes),
    RDMC_CAST_UNCHANGED_FILES: String(unchangedFiles),
    RDMC_CAST_REMOVED: String(removed),
    RDMC_CAST_NAMES: String(names.length),
    ...(isText && { RDMC_CAST_NAME: only!.toString('utf8') }),
  };
}

/** For the standard input of the command: each name is followed by a zero byte. */
export function nameList(names: readonly Uint8Array[]): Buffer {
  return Buffer.concat(names.flatMap((name) => [name, Buffer.alloc(1)]));
}

function failed(program: string, what: string): CliError {
  const message = `the command ${program} of the receiver ${what}; all files are stored`;
  return new CliError('ERR_RDMC_COMMAND_FAILED', message);
}

/** A command in progress. It has a process group of its own, so that its children can be ended with it. */
class RunningCommand {
  /** Resolves when the command has ended; its children may still run. */
  readonly ended: Promise<void>;
  #failure: CliError | undefined;
  readonly #child: ChildProcess;
  readonly #onExit = (): void => signalGroup(this.#child, 'SIGKILL');

  constructor({ program, args, directory }: AfterCommand, cast: ArrivedCast) {
    // Its output goes to stderr: stdout is for the events of --json.
    this.#child = spawn(program, args, {
      cwd: directory,
      env: environmentOf(cast, directory, process.env),
      stdio: ['pipe', 2, 2],
      detached: true,
    });
    // A command need not read its input.
    this.#child.stdin!.on('error', () => {});
    this.#child.stdin!.end(nameList(cast.names));
    process.once('exit', this.#onExit);
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#failure = failed(program, `cannot be run: ${systemReason(error)}`);
        resolve();
      });
      this.#child.once('exit', (code, signal) => {
        if (signal !== null) this.#failure = failed(program, `was ended by ${signal}`);
        else if (code !== 0) this.#failure = failed(program, `ended with exit code ${code}`);
        resolve();
      });
    });
  }

  /** @throws CliError ERR_RDMC_COMMAND_FAILED */
  async outcome(): Promise<void> {
    await this.ended;
    process.off('exit', this.#onExit);
    if (this.#failure) throw this.#failure;
  }

  /** Ends it with its children: by SIGTERM, then by SIGKILL. */
  async kill(): Promise<void> {
    await endGroup(this.#child, this.ended, KILL_GRACE_MS);
    process.off('exit', this.#onExit);
  }
}

/**
 * Runs the command, without a shell.
 * @throws CliError ERR_RDMC_COMMAND_FAILED, ERR_RDMC_COMMAND_TIMEOUT; the reason of the signal
 */
export async function runCommand(
  command: AfterCommand,
  cast: ArrivedCast,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { program, timeoutMs } = command;
  const running = new RunningCommand(command, cast);
  const stop = new AbortController();
  const forget = onAbort(signal, () => stop.abort());
  const timer = setTimeout(() => stop.abort(), timeoutMs);
  const stopped = new Promise<void>((resolve) => onAbort(stop.signal, resolve));
  await Promise.race([running.ended, stopped]);
  clearTimeout(timer);
  forget();
  if (!stop.signal.aborted) return running.outcome();
  await running.kill();
  signal.throwIfAborted();
  const limit = formatSeconds(timeoutMs / 1000);
  const message = `the command ${program} of the receiver did not end within ${limit} (--exec-timeout), and was killed with its children; all files are stored`;
  throw new CliError('ERR_RDMC_COMMAND_TIMEOUT', message);
}
