import { existsSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import type { Writable } from 'node:stream';
import { optionChecks } from '@rdmc/common';
import {
  DEFAULT_DEVICES,
  DEFAULT_MEMORY_MIB,
  DEFAULT_TIMEOUT_SECONDS,
  MAX_DEVICES,
  MIN_MEMORY_MIB,
} from './constants.js';
import { invalidOption } from './errors.js';

/** The command, and the virtual machine for it. */
export interface RunOptions {
  /** Program and arguments; no shell interprets them. */
  readonly command: readonly string[];
  /** rxe0, rxe1, ... on one bridge (default 2, range 0 to 16). */
  readonly devices?: number;
  /** Of the machine, in MiB (default 2048, at least 512). Files that the command writes are kept in it, too. */
  readonly memoryMiB?: number;
  /** Processors (default: two, or one if the machine has only one). */
  readonly processors?: number;
  /** Share of packets lost on the way to each device, as `tc` writes it: '2%'. */
  readonly loss?: string;
  /** The machine is ended after this time (default 900 s). */
  readonly timeoutSeconds?: number;
  /** Absolute path of a directory whose files are kept; other files that the command writes are lost. */
  readonly shared?: string;
  /** The command's directory (default: the current one). */
  readonly cwd?: string;
  /** Variables of the command, beside PATH, HOME, TERM and LANG of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where its output goes (default: that of this process). */
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** Called with progress: installing, downloading (default: standard error). */
  readonly log?: (line: string) => void;
  /** Ends the machine. */
  readonly signal?: AbortSignal;
}

/** All options that have a default, with it. */
export type Settings = Required<Omit<RunOptions, 'loss' | 'shared' | 'signal'>> &
  Pick<RunOptions, 'loss' | 'shared' | 'signal'>;

const KNOWN = [
  ...['command', 'devices', 'memoryMiB', 'processors', 'loss', 'timeoutSeconds', 'shared', 'cwd', 'env'],
  ...['stdout', 'stderr', 'log', 'signal'],
];

const { integerOption, onlyKnownOptions } = optionChecks((_, message) => invalidOption(message));

function checkShared(path: string): void {
  if (!isAbsolute(path) || !existsSync(path) || !statSync(path).isDirectory()) {
    throw invalidOption(
      `the shared directory must be the absolute path of an existing directory, not '${path}'`,
    );
  }
  // The paths become parts of the emulator's options, in which a comma ends a value.
  if (/[,\n]/.test(path))
    throw invalidOption(`the path of the shared directory must not contain a comma: '${path}'`);
}

/** @throws RoceVmError ERR_RDMC_ROCE_VM_INVALID_OPTION */
export function checked(options: RunOptions): Settings {
  onlyKnownOptions('run', options, KNOWN);
  if (options.command.length === 0) throw invalidOption('no command given');
  if (options.loss !== undefined && !/^\d{1,2}(\.\d+)?%$/.test(options.loss)) {
    throw invalidOption(`loss must be a share such as 2% or 0.5%, not '${options.loss}'`);
  }
  if (options.shared !== undefined) checkShared(options.shared);
  for (const name of Object.keys(options.env ?? {})) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw invalidOption(`'${name}' is not a name of a variable`);
  }
  return {
    cwd: process.cwd(),
    env: {},
    stdout: process.stdout,
    stderr: process.stderr,
    log: (line) => process.stderr.write(`roce-vm: ${line}\n`),
    ...options,
    devices: integerOption('run', 'devices', options.devices ?? DEFAULT_DEVICES, 0, MAX_DEVICES),
    memoryMiB: integerOption(
      'run',
      'memory',
      options.memoryMiB ?? DEFAULT_MEMORY_MIB,
      MIN_MEMORY_MIB,
      1 << 20,
    ),
    processors: integerOption(
      'run',
      'processors',
      options.processors ?? Math.min(2, availableParallelism()),
      1,
      64,
    ),
    timeoutSeconds: integerOption(
      'run',
      'timeout',
      options.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
      1,
      1e6,
    ),
  };
}
