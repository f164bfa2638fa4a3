import { MAX_STALL_TIMEOUT_MS, MIN_STALL_TIMEOUT_MS } from '@rdmc/cast/values';
import type { Command } from 'commander';
import * as z from 'zod';
import { castExitCodes, ExitCode } from '../exit-codes.js';
import { service } from '../interrupt.js';
import { findKey } from '../keys/find-key.js';
import { firstLine } from '../keys/standard-input.js';
import type { ServeCommandOptions } from '../serve/options.js';
import type { Session } from '../session.js';
import { device, duration, parseOptions, portRange, rate, transport } from '../values.js';
import { addHelpNotes } from './help.js';
import { addKeyOptions, keyOptions } from './key-options.js';
import { listenAddress } from './listen-address.js';
import { metricsAddress } from './metrics-address.js';

const LEAST_RATE = 64 * 1024;

/** The checked options, by their names in the parser. */
export const serveSchema = z.strictObject({
  listen: z.string().optional(),
  ...keyOptions,
  encrypt: z.boolean().default(true),
  bandwidthLimit: rate(LEAST_RATE, 2 ** 50).optional(),
  meshPorts: portRange.optional(),
  advertise: z.string().min(1).optional(),
  stallTimeout: duration(MIN_STALL_TIMEOUT_MS, MAX_STALL_TIMEOUT_MS).optional(),
  metrics: z.string().optional(),
  device,
  transport,
  verbose: z.boolean().default(false),
  quiet: z.boolean().default(false),
  json: z.boolean().default(false),
  logJson: z.boolean().default(false),
});
type Raw = z.output<typeof serveSchema>;

async function optionsOf(directory: string, raw: Raw, signal: AbortSignal): Promise<ServeCommandOptions> {
  const { listen, encrypt, bandwidthLimit, meshPorts, advertise, device, transport } = raw;
  const { host, port } = listenAddress(listen);
  const { verbose, quiet, json, logJson } = raw;
  return {
    ...{ directory, host, port, encrypt, bandwidthLimit, meshPorts, advertise, device, transport },
    ...{ verbose, quiet, json, logJson },
    key: await findKey(raw, process.env, () => firstLine(process.stdin, signal), { signal }),
    stallTimeoutMs: raw.stallTimeout,
    metrics: await metricsAddress(raw.metrics),
  };
}

async function run(directory: string, raw: Raw, session: Session): Promise<void> {
  session.exitCode = await service(async (signal) => {
    const options = await optionsOf(directory, raw, signal);
    const { runServe } = await import('../serve/run.js');
    return runServe(options, session.terminal, signal);
  });
}

export function defineServeCommand(command: Command, session: Session): void {
  command.option(
    '--listen <address[:port]>',
    'where to listen (default: 0.0.0.0:7412 with a key, else 127.0.0.1:7412)',
  );
  addKeyOptions(command, 'file with the key; not a key for fetching; only its owner may have access')
    .option('--no-encrypt', 'send files without encryption: faster, for networks that you trust')
    .option('--bandwidth-limit <rate>', 'limit of this machine’s rate for each name: 40MiB/s, 300Mbit/s')
    .option('--mesh-ports <first-last>', 'ports for the data, two for each name at a time (default: any)')
    .option('--advertise <address>', 'address of this machine for fetchers (default: the one that they call)')
    .option(
      '--stall-timeout <time>',
      'drop a fetcher after this time without progress: 1s to 10min (default: 30s)',
    )
    .option('--metrics <[host:]port>', 'serve metrics for Prometheus by HTTP (default host: 127.0.0.1)')
    .option('--device <name>', 'auto, soft, ibverbs (any RDMA device) or a name such as mlx5_0', 'auto')
    .option('--transport <name>', 'auto, shm or tcp; the same at all fetchers', 'auto')
    .option('-v, --verbose', 'also each group that is sent to, choices and warnings')
    .option('-q, --quiet', 'print errors only')
    .option('--json', 'JSON lines: one event each')
    .option('--log-json', 'log to stderr as JSON, one object per line, instead of text')
    .action((directory: string, raw: unknown) => run(directory, parseOptions(serveSchema, raw), session));
  addHelpNotes(command, {
    about: [
      'Fetchers that ask for the same name form one cast: each forwards what it receives. A late one joins between two',
      'messages, gets the rest with the others, and the beginning afterwards, together with all others that lack it.',
      'A fetcher gets only the pieces (of at most 1 MiB) that it lacks, and checks each against the hashes that it has from',
      'this process itself, so that another fetcher cannot alter them.',
      'Only directories and regular files are served; symbolic links are not followed. A file that changes while it is served',
      'is reported to its fetchers, and the next fetch has it as it is then.',
      'Hosts that only fetch get a key for fetching: rdmc key --role fetch. Without a key, only the same user on this machine',
      'can fetch. Serves until Ctrl-C (exit code 130) or SIGTERM (exit code 0).',
    ],
    examples: [
      ['rdmc serve /srv/models --listen 0.0.0.0 --key-file cast.key', 'to other hosts'],
      ['rdmc key --role fetch --key-file cast.key fetch.key', 'the key for those hosts'],
      ['rdmc serve . --listen 10.0.0.5:7412 --mesh-ports 7501-7516 --key-file cast.key', 'for a firewall'],
      ['rdmc serve . --json | jq -c \'select(.event == "complete")\'', 'for programs'],
    ],
    exitCodes: castExitCodes.filter((code) => code === ExitCode.HANGUP || code === ExitCode.MEMBER_LOST),
  });
}
