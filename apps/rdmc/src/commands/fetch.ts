import { comparisons } from '@rdmc/cast/values';
import type { Command } from 'commander';
import * as z from 'zod';
import { usageError } from '../errors.js';
import { castExitCodes } from '../exit-codes.js';
import type { FetchCommandOptions } from '../fetch/options.js';
import { parseSource } from '../fetch/source.js';
import { interruptible } from '../interrupt.js';
import { findKey } from '../keys/find-key.js';
import { firstLine } from '../keys/standard-input.js';
import type { Session } from '../session.js';
import { device, duration, parseOptions, portRange, transport } from '../values.js';
import { addHelpNotes } from './help.js';
import { addKeyOptions, keyOptions } from './key-options.js';

const DAY_MS = 24 * 3_600_000;

/** The checked options, by their names in the parser. */
export const fetchSchema = z.strictObject({
  dir: z.string().min(1).optional(),
  mkdir: z.boolean().default(false),
  ...keyOptions,
  compare: z.enum(comparisons, { error: () => `expected ${comparisons.join(', ')}` }),
  c: z.boolean().default(false),
  fsync: z.boolean().default(true),
  wait: duration(100, DAY_MS).optional(),
  serveOn: duration(100, 24 * DAY_MS).optional(),
  meshPorts: portRange.optional(),
  device,
  transport,
  verbose: z.boolean().default(false),
  quiet: z.boolean().default(false),
  json: z.boolean().default(false),
});
type Raw = z.output<typeof fetchSchema>;

async function optionsOf(source: string, raw: Raw, signal: AbortSignal): Promise<FetchCommandOptions> {
  const { dir, mkdir, compare, c, fsync, meshPorts, device, transport, verbose, quiet, json } = raw;
  if (dir === undefined)
    throw usageError('--dir is missing', 'give the directory to store files in: --dir DIR');
  if (c && compare === 'none')
    throw usageError('-c and --compare none exclude each other', 'give one of them');
  return {
    ...parseSource(source),
    ...{ fsync, meshPorts, device, transport, verbose, quiet, json },
    directory: dir,
    makeDirectory: mkdir,
    compare: c ? 'content' : compare,
    waitMs: raw.wait,
    serveOnMs: raw.serveOn,
    key: await findKey(raw, process.env, () => firstLine(process.stdin, signal), { use: 'fetch', signal }),
  };
}

/** What an interrupted fetch leaves: nothing that counts where the next one fetches everything again. */
export function whatIsLeft({ compare }: Pick<Raw, 'compare'>): { advice?: string } {
  return compare === 'none' ? {} : { advice: 'what is here stays: the same command fetches the rest' };
}

async function run(source: string, raw: Raw, session: Session): Promise<void> {
  session.exitCode = await interruptible(async (signal) => {
    const options = await optionsOf(source, raw, signal);
    const { runFetch } = await import('../fetch/run.js');
    return runFetch(options, session.terminal, signal);
  }, whatIsLeft(raw));
}

export function defineFetchCommand(command: Command, session: Session): void {
  command
    .option('--dir <path>', 'where files are stored')
    .option('--mkdir', 'make the directory if it is missing');
  addKeyOptions(
    command,
    'file with the key of the server, or a key for fetching; only its owner may have access',
  )
    .option('--compare <how>', 'when a file is here already: size-time, content or none', 'size-time')
    .option('-c', '--compare content')
    .option('--wait <time>', 'call a server that is not there, or is busy, for this time (default: once)')
    .option(
      '--serve-on <time>',
      'when everything is here, send it to later fetchers in the place of the server, for this time',
    )
    .option('--no-fsync', 'end before the files are on disk: faster, but a power cut may lose them')
    .option('--mesh-ports <first-last>', 'ports for the data, two for each fetch at a time (default: any)')
    .option('--device <name>', 'auto, soft, ibverbs (any RDMA device) or a name such as mlx5_0', 'auto')
    .option('--transport <name>', 'auto, shm or tcp; the same at the server', 'auto')
    .option('-v, --verbose', 'also choices and warnings')
    .option('-q, --quiet', 'print errors only')
    .option('--json', 'JSON lines: one event each')
    .action((source: string, raw: unknown) => run(source, parseOptions(fetchSchema, raw), session));
  addHelpNotes(command, {
    about: [
      'NAME is a path below the served directory, and arrives under its last component. Fetchers of one name that run at the',
      'same time form one cast, whenever each of them starts. Only missing pieces (of at most 1 MiB) are sent: this end says',
      'what it has. Each piece is checked against the hashes of the server itself, whichever fetcher forwarded it. A file',
      'appears under its name when it is complete, a new directory at the end. Fetchers must reach each other. A fetch that was',
      'interrupted continues when it is repeated, also inside large files.',
      'The key is that of the server, or one for fetching, which can do nothing else: rdmc key --role fetch. Without a key,',
      'the server must be a process of this user on this machine.',
    ],
    examples: [
      ['rdmc fetch node0/model --dir /srv --key-file fetch.key', 'the directory model, to /srv/model'],
      [
        'rdmc fetch node0 --dir /srv --key-file fetch.key --wait 10min',
        'everything, as soon as node0 serves',
      ],
      ['rdmc fetch [fd00::5]:7500/model.bin --dir . --key-file fetch.key', 'one file'],
      [
        'rdmc fetch node0/model --dir /srv --key-file fetch.key --serve-on 1h',
        'and then serve it to later fetchers',
      ],
      ['rdmc fetch node0/model --dir /srv --key-file fetch.key --json | jq -c .event', 'for programs'],
    ],
    exitCodes: castExitCodes,
  });
}
