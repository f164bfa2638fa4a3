import { checksums, DEFAULT_PORT, MAX_STALL_TIMEOUT_MS, MIN_STALL_TIMEOUT_MS } from '@rdmc/cast/values';
import { MAX_SERVICE_LEVEL, MAX_TRAFFIC_CLASS } from '@rdmc/verbs';
import type { Command } from 'commander';
import * as z from 'zod';
import type { CastCommandOptions } from '../cast/options.js';
import { checkStandardInput, standardInputName } from '../cast/standard-input.js';
import { usageError } from '../errors.js';
import { castExitCodes } from '../exit-codes.js';
import { parseEndpoint } from '../hosts/endpoint.js';
import { configPlaces, hostsOfGroup, readGroups } from '../hosts/groups.js';
import { readHostfile } from '../hosts/hostfile.js';
import { slurmTargets } from '../hosts/slurm.js';
import { checkTargets, type Target } from '../hosts/target.js';
import { interruptible } from '../interrupt.js';
import { findKey } from '../keys/find-key.js';
import { firstLine } from '../keys/standard-input.js';
import type { RemoteOptions } from '../remote/options.js';
import { splitWords } from '../remote/words.js';
import type { Session } from '../session.js';
import {
  algorithm,
  blockSize,
  device,
  duration,
  list,
  parseOptions,
  portRange,
  rate,
  size,
  transport,
  wholeNumber,
} from '../values.js';
import { addGatheringOptions, gatheringOf, gatheringOptions } from './gathering-options.js';
import { addHelpNotes } from './help.js';
import { addKeyOptions, keyOptions } from './key-options.js';
import { addSelectionOptions, selectionOf, selectionOptions } from './selection-options.js';

const KIB = 1024;
const GIB = 1024 ** 3;
const MINUTE_MS = 60_000;
/** Starting a program by a remote shell may take longer than a connection. */
const START_TIMEOUT_MS = 30_000;

/** The checked options, by their names in the parser. */
export const castSchema = z.strictObject({
  name: z.string().min(1).optional(),
  to: list(z.string().min(1)).optional(),
  hostfile: z.string().min(1).optional(),
  config: z.string().min(1).optional(),
  slurm: z.boolean().default(false),
  ssh: z.boolean().default(false),
  remoteShell: z.string().optional(),
  remoteCommand: z.string().optional(),
  remoteDir: z.string().min(1).optional(),
  mkdir: z.boolean().default(false),
  fsync: z.boolean().default(true),
  meshPorts: portRange.optional(),
  ownPorts: portRange.optional(),
  ...keyOptions,
  algorithm: z.union([z.literal('auto'), algorithm], {
    error: () => 'expected auto, sequential, chain, binomial-tree, binomial-pipeline or hybrid',
  }),
  rack: z
    .string()
    .regex(/^[\w.-]{1,64}$/, "expected letters, digits, '.', '_' and '-'")
    .optional(),
  blockSize,
  relay: z.enum(['auto', 'worker', 'device'], { error: () => 'expected auto, worker or device' }),
  messageSize: size(64 * KIB, GIB).optional(),
  checksum: z.enum(checksums),
  encrypt: z.boolean().default(true),
  compress: z.boolean().default(false),
  bandwidthLimit: rate(64 * KIB, 2 ** 50).optional(),
  retries: wholeNumber(0, 100),
  stallTimeout: duration(MIN_STALL_TIMEOUT_MS, MAX_STALL_TIMEOUT_MS).optional(),
  trafficClass: wholeNumber(0, MAX_TRAFFIC_CLASS),
  serviceLevel: wholeNumber(0, MAX_SERVICE_LEVEL),
  connectTimeout: duration(100, 10 * MINUTE_MS).optional(),
  device,
  transport,
  advertise: z.string().min(1).optional(),
  ...selectionOptions,
  ...gatheringOptions,
  trace: z.string().min(1).optional(),
  plan: z.boolean().default(false),
  dryRun: z.boolean().default(false),
  verbose: z.boolean().default(false),
  quiet: z.boolean().default(false),
  json: z.boolean().default(false),
});
type Raw = z.output<typeof castSchema>;

/** The hosts of `--to`, with those of its groups. */
async function namedTargets(names: readonly string[], config: string | undefined): Promise<Target[]> {
  const hasGroup = names.some((name) => name.startsWith('@'));
  if (!hasGroup) {
    if (config === undefined) return names.map(parseEndpoint);
    throw usageError('--config applies only to groups of hosts', 'name one: --to @GROUP');
  }
  const groups = await readGroups(config, configPlaces(process.env));
  return names.flatMap((name) =>
    name.startsWith('@') ? hostsOfGroup(name.slice(1), groups) : parseEndpoint(name),
  );
}

/** All receivers: those of the list, of the file and of the job. */
async function targetsOf({ to = [], hostfile, config, slurm, ssh }: Raw): Promise<readonly Target[]> {
  if (to.length === 0 && hostfile === undefined && !slurm) {
    throw usageError(
      'no receiver',
      'give receivers: --to host1,host2 or --hostfile FILE or, in a Slurm job, --slurm',
    );
  }
  const targets = [
    ...(await namedTargets(to, config)),
    ...(hostfile === undefined ? [] : await readHostfile(hostfile)),
    ...(slurm ? slurmTargets(process.env) : []),
  ];
  const user = targets.find((target) => target.user !== undefined);
  if (user && !ssh) {
    throw usageError(
      `${user.user}@${user.host}: only the remote shell uses a user name`,
      'remove the user name, or add --ssh',
    );
  }
  return checkTargets(targets, ssh ? 0 : DEFAULT_PORT);
}

function remoteOf(raw: Raw): RemoteOptions | undefined {
  const { ssh, remoteShell, remoteCommand, remoteDir, mkdir, fsync, archive, meshPorts } = raw;
  if (!ssh) {
    const given = {
      '--remote-shell': remoteShell,
      '--remote-command': remoteCommand,
      '--remote-dir': remoteDir,
    };
    const alone = Object.entries({
      ...given,
      ...{ '--mesh-ports': meshPorts, '--mkdir': mkdir || undefined, '--no-fsync': fsync ? undefined : true },
    });
    const found = alone.find(([, value]) => value !== undefined);
    if (found) throw usageError(`${found[0]} applies only to receivers that --ssh starts`, 'add --ssh');
    return undefined;
  }
  return {
    shell: splitWords(remoteShell ?? 'ssh -o BatchMode=yes', '--remote-shell'),
    command: splitWords(remoteCommand ?? 'rdmc', '--remote-command'),
    directory: remoteDir ?? '.',
    makeDirectory: mkdir,
    fsync,
    archive,
    meshPorts,
    timeoutMs: raw.connectTimeout ?? START_TIMEOUT_MS,
  };
}

async function optionsOf(
  paths: readonly string[],
  raw: Raw,
  signal: AbortSignal,
): Promise<CastCommandOptions> {
  const { algorithm, rack, blockSize, messageSize, checksum, bandwidthLimit, retries, device, transport } =
    raw;
  const { advertise, plan, dryRun, verbose, quiet, json, ssh, encrypt, compress } = raw;
  if (ssh && (raw.keyFile !== undefined || raw.keyStdin)) {
    throw usageError('--ssh makes a new key for each cast', 'remove --key-file and --key-stdin');
  }
  const inputName = standardInputName(paths, raw);
  if (inputName !== undefined) checkStandardInput();
  if (raw.trace !== undefined && (plan || dryRun)) {
    throw usageError('--trace: nothing is sent with --plan and --dry-run', 'remove one of them');
  }
  // Each attempt numbers its receivers and groups anew: the numbers in the file would mean several things.
  if (raw.trace !== undefined && retries > 0) {
    throw usageError('--trace and --retries exclude each other', 'remove --retries: a trace is of one cast');
  }
  if (plan && dryRun) throw usageError('--plan and --dry-run exclude each other', 'remove one of them');
  const targets = await targetsOf(raw);
  const gathering = gatheringOf(raw, targets.length);
  const selection = await selectionOf(raw, signal);
  const remote = remoteOf(raw);
  const key = ssh
    ? undefined
    : await findKey(raw, process.env, () => firstLine(process.stdin, signal), { signal });
  return {
    ...{
      paths,
      targets,
      remote,
      key,
      rack,
      blockSize,
      relay: raw.relay,
      messageSize,
      checksum,
      bandwidthLimit,
      retries,
      device,
      transport,
    },
    ...selection,
    ...gathering,
    ...{ advertise, plan, dryRun, verbose, quiet, json, encrypt, compress, inputName },
    ownPorts: raw.ownPorts,
    trace: raw.trace,
    algorithm: algorithm === 'auto' ? undefined : algorithm,
    stallTimeoutMs: raw.stallTimeout,
    trafficClass: raw.trafficClass,
    serviceLevel: raw.serviceLevel,
    connectTimeoutMs: raw.connectTimeout,
  };
}

async function run(paths: readonly string[], raw: Raw, session: Session): Promise<void> {
  session.exitCode = await interruptible(
    async (signal) => {
      const options = await optionsOf(paths, raw, signal);
      const { runCast } = await import('../cast/run.js');
      return runCast(options, session.terminal, signal);
    },
    whatIsLeft(paths, raw),
  );
}

/** What an interrupted cast leaves: nothing that counts where the next one sends everything again. */
export function whatIsLeft(
  paths: readonly string[],
  { resume, compare, dryRun, plan }: Pick<Raw, 'resume' | 'compare' | 'dryRun' | 'plan'>,
): { advice?: string } {
  const isContinued = resume && compare !== 'none';
  if (!isContinued || dryRun || plan || paths.includes('-')) return {};
  return { advice: 'receivers keep what they have of it: the same command continues the cast' };
}

function addReceiverOptions(command: Command): Command {
  return command
    .option(
      '--to <host[:port],...>',
      'receivers; IPv6 addresses in brackets: [fd00::5]:7411; @GROUP: see --config',
    )
    .option(
      '--config <path>',
      'file with groups of hosts (default: ~/.config/rdmc/hosts, else /etc/rdmc/hosts)',
    )
    .option('--hostfile <path>', 'receivers: one host per line, then port=N and rack=NAME; # comments')
    .option('--slurm', 'receivers: the nodes of this Slurm job (SLURM_JOB_NODELIST)')
    .option('--ssh', 'start rdmc receive on each receiver, and end it afterwards')
    .option('--remote-shell <command>', 'run with HOST COMMAND... (default: ssh -o BatchMode=yes)')
    .option('--remote-command <command>', 'rdmc on the receivers (default: rdmc)')
    .option('--remote-dir <path>', 'receiving directory (default: the home directory)')
    .option('--mkdir', 'make the directory if it is missing')
    .option('--no-fsync', 'with --ssh: as for rdmc receive')
    .option(
      '--mesh-ports <first-last>',
      'data ports of the receivers, two for each cast at a time (default: any)',
    );
}

function addTuningOptions(command: Command): Command {
  return command
    .option('--name <name>', 'with -: name of the file at the receivers (default: stdin)')
    .option(
      '-a, --algorithm <name>',
      'auto: a chain by rack or hybrid where racks share uplinks, else binomial-pipeline',
      'auto',
    )
    .option('--rack <name>', 'the rack of this machine (default: a separate rack)')
    .option('--block-size <size>', 'bytes per block, or auto', 'auto')
    .option('--relay <part>', 'auto, worker or device: the part of a receiver that relays blocks', 'auto')
    .option('--message-size <size>', 'largest message; every member holds three (default: 8MiB)')
    .option('--checksum <name>', 'checksum of file contents: gmac (cheap) or sha256', 'gmac')
    .option('-z, --compress', 'compress contents: faster over slow links, such as 50 Mbit/s')
    .option('--no-encrypt', 'send files without encryption: faster, for networks that you trust')
    .option('--bandwidth-limit <rate>', 'limit of this machine’s rate: 40MiB/s, 300Mbit/s')
    .option('--retries <count>', 'how often to cast again to receivers that failed', '0')
    .option(
      '--stall-timeout <time>',
      'drop a receiver after this time without progress: 1s to 10min (default: 30s)',
    )
    .option(
      '--connect-timeout <time>',
      'limit for the answer of a receiver (default: 10s; with --ssh 30s to start)',
    )
    .option('--traffic-class <number>', 'of all packets: 4 times the DSCP code point, 0 to 255', '0')
    .option('--service-level <number>', 'of all packets on RDMA devices, 0 to 15', '0')
    .option('--device <name>', 'auto, soft, ibverbs (any RDMA device) or a name such as mlx5_0', 'auto')
    .option('--transport <name>', 'auto, shm or tcp; the same at all receivers', 'auto')
    .option(
      '--advertise <address>',
      'address of this machine for receivers (default: that of its connections to them)',
    )
    .option(
      '--own-ports <first-last>',
      'ports of this machine for receivers, two for each cast at a time (default: any)',
    )
    .option(
      '--trace <file>',
      'write what this machine waited for: .html, .json for Perfetto, else for rdmc trace',
    )
    .option('--plan', 'only show receivers, files and schedule; connect to no host')
    .option('-n, --dry-run', 'ask the receivers, and list what a cast would change at each; change nothing')
    .option('-v, --verbose', 'also GID, schedule, blocks and address')
    .option('-q, --quiet', 'print errors only')
    .option('--json', 'JSON lines: one event each');
}

export function defineCastCommand(command: Command, session: Session): void {
  addReceiverOptions(command);
  addSelectionOptions(command);
  addGatheringOptions(command);
  addKeyOptions(command);
  addTuningOptions(command).action((paths: string[], raw: unknown) =>
    run(paths, parseOptions(castSchema, raw), session),
  );
  addHelpNotes(command, {
    about: [
      'Only what is missing is sent: receivers tell what they have, by size and time of last change (--compare).',
      'Receivers forward what they receive, so the time hardly depends on their number. They run rdmc receive, or',
      '--ssh starts it. When one fails, the others finish, and the summary lists what is missing at which receiver.',
      'Without a key, receivers must be processes of this user on this machine; --ssh makes a key. Files are encrypted',
      'from this machine to each receiver (AES-256-GCM), unless --no-encrypt is given.',
    ],
    examples: [
      ['rdmc cast model.bin --to node1,node2 --ssh', 'start the receivers, send, end them'],
      ['rdmc cast model/ --to node1,node2:7500 --key-file cast.key', 'receivers run already'],
      ['rdmc cast model/ --hostfile hosts --ssh --remote-dir /srv --retries 2', 'many hosts'],
      ["rdmc cast model/ --slurm --ssh --remote-shell 'srun --overlap -N1 -n1 -w'", 'in a Slurm job'],
      ['rdmc cast src/ --to node1 --ssh --delete --exclude .git/', 'the same tree there, without .git'],
      ['tar c . | rdmc cast - --to node1,node2 --key-file cast.key --name src.tar', 'standard input'],
      ['rdmc cast model/ --to @pods --key-file k --wait-for 3 --join-window 10min', 'pods that start later'],
      ['rdmc cast model/ --hostfile hosts --dry-run', 'what would change at each receiver'],
      ['rdmc cast model/ --to @rack1,@rack2 --key-file cast.key', 'groups of the configuration file'],
      [
        'rdmc cast model/ --hostfile hosts --ssh --trace cast.html',
        'who delays whom, as this machine sees it',
      ],
      ['rdmc cast model/ --hostfile hosts --plan', 'show the schedule'],
      ['rdmc cast model/ --to node1 --ssh --json | jq -c .event', 'for programs'],
    ],
    exitCodes: castExitCodes,
  });
}
