import { fstatSync } from 'node:fs';
import type { FilterRule } from '@rdmc/cast';
import { usageError } from '../errors.js';

/** The path that means standard input. */
export const STANDARD_INPUT = '-';
const DEFAULT_NAME = 'stdin';

/** The options that decide whether a cast is one of standard input, and those that are then impossible. */
interface GivenOptions {
  readonly name?: string | undefined;
  readonly keyStdin: boolean;
  readonly filesFrom?: string | undefined;
  readonly compare: string;
  readonly c: boolean;
  readonly exclude: readonly FilterRule[];
  readonly include: readonly FilterRule[];
  readonly update: boolean;
  readonly existing: boolean;
  readonly wholeFile: boolean;
  readonly delete: boolean;
  readonly dryRun: boolean;
  readonly archive: boolean;
  readonly plan: boolean;
  readonly retries: number;
  readonly waitFor?: number | undefined;
  readonly joinWindow?: number | undefined;
}

/**
 * The name at the receivers where standard input is cast; undefined where paths are.
 * @throws CliError ERR_RDMC_USAGE where other paths or options contradict it
 */
export function standardInputName(paths: readonly string[], given: GivenOptions): string | undefined {
  if (!paths.includes(STANDARD_INPUT)) {
    if (given.name === undefined) return undefined;
    throw usageError(
      '--name applies only to standard input',
      'cast - to send standard input, or remove --name',
    );
  }
  if (paths.length > 1)
    throw usageError(
      '- (standard input) is cast alone',
      'remove the other paths; a file of that name is ./-',
    );
  const impossible = Object.entries({
    '--key-stdin': given.keyStdin,
    '--files-from': given.filesFrom !== undefined,
    [`--compare ${given.compare}`]: given.compare === 'content',
    '-c': given.c,
    '--exclude': given.exclude.length > 0,
    '--include': given.include.length > 0,
    '--update': given.update,
    '--existing': given.existing,
    '--whole-file': given.wholeFile,
    '--delete': given.delete,
    '--dry-run': given.dryRun,
    '--archive': given.archive,
    '--plan': given.plan,
    '--retries': given.retries > 0,
    '--wait-for': given.waitFor !== undefined,
    '--join-window': given.joinWindow !== undefined,
  }).find(([, isGiven]) => isGiven);
  if (impossible) {
    throw usageError(
      `${impossible[0]} is not possible with -: standard input is read once, while it is sent`,
      'write it to a file and cast that, or remove the option',
    );
  }
  return given.name ?? DEFAULT_NAME;
}

/**
 * Node takes a directory for an input without bytes, which would be cast as an empty file.
 * @throws CliError ERR_RDMC_USAGE
 */
export function checkStandardInput(descriptor = 0): void {
  if (!fstatSync(descriptor).isDirectory()) return;
  throw usageError(
    'standard input is a directory',
    'cast the directory itself, or pipe an archive: tar c DIR | rdmc cast -',
  );
}
