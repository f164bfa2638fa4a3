import type { CastParts, FileRange } from '@rdmc/cast';
import { usageError } from '../errors.js';
import { parseSize } from '../ui/units.js';

/** The options that name a part of a cast. */
export interface PartOptions {
  readonly shm?: string | undefined;
  readonly tensors?: readonly string[] | undefined;
  readonly range?: readonly string[] | undefined;
}

/** The part of a cast that is kept; undefined: everything. @throws CliError ERR_RDMC_USAGE */
export function partsOf({ shm, tensors, range }: PartOptions): CastParts | undefined {
  if (tensors === undefined && range === undefined) return undefined;
  const option = tensors ? '--tensors' : '--range';
  if (shm === undefined) throw usageError(`${option} applies only to --shm`, 'add --shm NAME');
  return { tensors, ranges: range?.map(rangeOf) };
}

/** `FILES:BEGIN-END`; FILES is a pattern, and may have colons. */
function rangeOf(text: string): FileRange {
  const [, path, first, behind] = /^(.+):([^:-]+)-([^:-]+)$/.exec(text) ?? [];
  const [begin, end] = [parseSize(first ?? ''), parseSize(behind ?? '')];
  if (path !== undefined && begin !== undefined && end !== undefined && begin < end)
    return { path, begin, end };
  throw usageError(
    `--range: expected FILES:BEGIN-END, such as *.bin:0-64MiB, not ${JSON.stringify(text)}`,
    'END is behind the last byte',
  );
}
