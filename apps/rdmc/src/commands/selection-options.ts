import type { FilterRule } from '@rdmc/cast';
import { comparisons } from '@rdmc/cast/values';
import { type Command, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod';
import { readPathList } from '../cast/path-list.js';
import type { Selection } from '../cast/selection.js';
import { usageError } from '../errors.js';

/** A rule with its place on the command line: rules of both options apply in that order. */
interface PlacedRule extends FilterRule {
  readonly place: number;
}

const placedRules = z.array(z.custom<PlacedRule>()).default([]);

/** The options of `cast` that say which entries are sent. */
export const selectionOptions = {
  compare: z.enum(comparisons, { error: () => `expected ${comparisons.join(', ')}` }),
  c: z.boolean().default(false),
  exclude: placedRules,
  include: placedRules,
  filesFrom: z.string().min(1).optional(),
  from0: z.boolean().default(false),
  update: z.boolean().default(false),
  existing: z.boolean().default(false),
  delete: z.boolean().default(false),
  wholeFile: z.boolean().default(false),
  resume: z.boolean().default(true),
  archive: z.boolean().default(false),
  numericIds: z.boolean().default(false),
};
const schema = z.strictObject(selectionOptions);
export type RawSelection = z.output<typeof schema>;

/** @throws CliError ERR_RDMC_USAGE; ENOENT and other errno codes */
export async function selectionOf(
  raw: RawSelection & { readonly keyStdin: boolean },
  signal: AbortSignal,
): Promise<Selection> {
  const { compare, exclude, include, filesFrom, from0, update, existing } = raw;
  if (from0 && filesFrom === undefined)
    throw usageError('--from0 applies only to --files-from', 'add --files-from');
  if (filesFrom !== undefined && raw.delete)
    throw usageError('--files-from and --delete exclude each other', 'cast the whole directory to delete');
  if (filesFrom === '-' && raw.keyStdin)
    throw usageError('--key-stdin and --files-from - exclude each other', 'give the key as a file');
  if (raw.c && compare === 'none')
    throw usageError('-c and --compare none exclude each other', 'give one of them');
  if (raw.numericIds && !raw.archive)
    throw usageError('--numeric-ids applies only to --archive', 'add --archive');
  const placed = [...exclude, ...include].sort((a, b) => a.place - b.place);
  return {
    compare: raw.c ? 'content' : compare,
    filters: placed.map(({ action, pattern }) => ({ action, pattern })),
    only: filesFrom === undefined ? undefined : await readPathList(filesFrom, from0, process.stdin, signal),
    ...{ update, existing, delete: raw.delete, wholeFiles: raw.wholeFile, resume: raw.resume },
    ...{ archive: raw.archive, numericIds: raw.numericIds },
  };
}

function ruleOption(flags: string, description: string, action: FilterRule['action'], next: () => number) {
  const collect = (pattern: string, before: readonly PlacedRule[] = []): PlacedRule[] => {
    if (pattern === '') throw new InvalidArgumentError('the pattern is empty');
    return [...before, { action, pattern, place: next() }];
  };
  return new Option(flags, description).argParser(collect);
}

export function addSelectionOptions(command: Command): Command {
  let place = 0;
  const next = (): number => place++;
  return command
    .option(
      '--compare <how>',
      'when a receiver has a file: size-time, content (both ends read it), or none (send everything)',
      'size-time',
    )
    .option('-c', 'short for --compare content (--checksum is another option)')
    .addOption(
      ruleOption(
        '--exclude <pattern>',
        'leave out entries that match, as rsync does; may be given often',
        'exclude',
        next,
      ),
    )
    .addOption(
      ruleOption(
        '--include <pattern>',
        'keep entries that match: the first matching rule decides',
        'include',
        next,
      ),
    )
    .option('--files-from <path>', 'cast only the paths listed in a file, or - for standard input')
    .option('-0, --from0', 'the paths of --files-from end with zero bytes')
    .option('-u, --update', 'leave files that are newer at the receiver')
    .option('-W, --whole-file', 'send large files that changed as a whole, not only the blocks that differ')
    .option(
      '--no-resume',
      'do not continue an interrupted cast: send again what it has left at the receivers',
    )
    .option(
      '--archive',
      'also owners, groups, extended attributes and special mode bits, at receivers with --archive',
    )
    .option('--numeric-ids', 'with --archive: owners by number, not by name')
    .option('--existing', 'create nothing at the receivers, only update')
    .option('--delete', 'at the end, remove at the receivers what the cast directories do not have');
}
