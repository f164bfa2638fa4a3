import type { Command } from 'commander';
import * as z from 'zod';
import { usageError } from '../errors.js';
import { castExitCodes, ExitCode } from '../exit-codes.js';
import { service } from '../interrupt.js';
import { findKey } from '../keys/find-key.js';
import { firstLine } from '../keys/standard-input.js';
import type { BesideControlled } from '../receive/controlled.js';
import { checkClean, checkDestination, execOf } from '../receive/destination.js';
import type { ReceiveCommandOptions } from '../receive/options.js';
import { partsOf } from '../receive/parts.js';
import type { Session } from '../session.js';
import { device, duration, parseOptions, portRange, resumeLimit, transport } from '../values.js';
import { addHelpNotes } from './help.js';
import { addKeyOptions, keyOptions } from './key-options.js';
import { listenAddress } from './listen-address.js';
import { metricsAddress } from './metrics-address.js';

const SECOND_MS = 1000;
const DAY_MS = 24 * 3600 * SECOND_MS;

/** The checked options, by their names in the parser. */
export const receiveSchema = z.strictObject({
  listen: z.string().optional(),
  dir: z.string().min(1).optional(),
  mkdir: z.boolean().default(false),
  stdout: z.boolean().default(false),
  shm: z.string().optional(),
  tensors: z.array(z.string()).optional(),
  range: z.array(z.string()).optional(),
  exec: z.array(z.string()).optional(),
  execTimeout: duration(100, DAY_MS).optional(),
  once: z.boolean().default(false),
  requireEncryption: z.boolean().default(false),
  fsync: z.boolean().default(true),
  resume: z.boolean().default(true),
  resumeLimit: resumeLimit.optional(),
  archive: z.boolean().default(false),
  clean: z.boolean().default(false),
  meshPorts: portRange.optional(),
  metrics: z.string().optional(),
  trace: z.string().min(1).optional(),
  ...keyOptions,
  device,
  transport,
  controlled: z.boolean().default(false),
  verbose: z.boolean().default(false),
  quiet: z.boolean().default(false),
  json: z.boolean().default(false),
  logJson: z.boolean().default(false),
});
type Raw = z.output<typeof receiveSchema>;

async function optionsOf(raw: Raw, signal: AbortSignal): Promise<ReceiveCommandOptions> {
  const { listen, dir, mkdir, stdout, fsync, meshPorts, device, transport, verbose, quiet, json } = raw;
  checkDestination(raw);
  checkTrace(raw);
  const { host, port } = listenAddress(listen);
  const key = await findKey(raw, process.env, () => firstLine(process.stdin, signal), { signal });
  return {
    ...{ host, port, key, fsync, meshPorts, device, transport, verbose, quiet, json, stdout },
    once: raw.once || stdout,
    exec: execOf(raw),
    sharedMemory: raw.shm,
    parts: partsOf(raw),
    resume: raw.resume,
    resumeLimit: raw.resumeLimit,
    archive: raw.archive,
    logJson: raw.logJson,
    requireEncryption: raw.requireEncryption,
    directory: dir,
    metrics: await metricsAddress(raw.metrics),
    trace: raw.trace,
    makeDirectory: mkdir,
  };
}

/** Each cast numbers its members and groups anew: of several casts, the numbers in the file would mean several things. */
function checkTrace({ trace, once, stdout }: Raw): void {
  if (trace === undefined || once || stdout) return;
  throw usageError('--trace is of one cast', 'add --once');
}

function besideControlled(raw: Raw): BesideControlled {
  const { requireEncryption, listen, dir, mkdir, stdout, exec, execTimeout, once, fsync } = raw;
  const memory = { '--shm': raw.shm, '--tensors': raw.tensors, '--range': raw.range };
  const destination = { '--dir': dir, '--mkdir': mkdir, '--stdout': stdout, ...memory, '--exec': exec };
  const others = {
    ...destination,
    ...{ '--no-resume': !raw.resume, '--resume-limit': raw.resumeLimit, '--clean': raw.clean },
    ...{ '--archive': raw.archive },
    ...{ '--listen': listen, '--exec-timeout': execTimeout, '--once': once, '--no-fsync': !fsync },
    ...{ '--mesh-ports': raw.meshPorts, '--metrics': raw.metrics, '--trace': raw.trace },
    ...{ '--key-file': raw.keyFile, '--key-stdin': raw.keyStdin },
  };
  return { requireEncryption, others };
}

async function run(raw: Raw, session: Session): Promise<void> {
  session.exitCode = await service(async (signal) => {
    if (raw.controlled) {
      const { runControlled } = await import('../receive/controlled.js');
      return runControlled(besideControlled(raw), session.terminal, signal);
    }
    if (raw.clean) {
      const { listen, once, metrics, trace } = raw;
      const others = { '--listen': listen, '--once': once, '--metrics': metrics, '--trace': trace };
      const directory = checkClean(raw, others);
      const { clean } = await import('../receive/clean.js');
      return clean({ directory, quiet: raw.quiet, json: raw.json }, session.terminal);
    }
    const options = await optionsOf(raw, signal);
    const { runReceive } = await import('../receive/run.js');
    return runReceive(options, session.terminal, signal);
  });
}

const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

function addMemoryOptions(command: Command): Command {
  return command
    .option(
      '--shm <name>',
      'store files in named shared memory, for other processes of this user: /dev/shm/NAME',
    )
    .option(
      '--tensors <pattern>',
      'with --shm: only tensors of .safetensors files whose names match; repeatable',
      collect,
    )
    .option(
      '--range <files:begin-end>',
      'with --shm: only these bytes of the files that match: *.bin:0-64MiB; repeatable',
      collect,
    );
}

function addExecOptions(command: Command): Command {
  return command
    .option('--exec-timeout <time>', 'limit for the command of --exec (default: 5min)')
    .option(
      '--exec <command...>',
      'run this after each complete cast; must be the last option: the rest of the line is the command',
    );
}

function addDiskOptions(command: Command): Command {
  return command
    .option(
      '--no-fsync',
      'report a cast as complete before its files are on disk: faster, but a power cut may lose them',
    )
    .option('--no-resume', 'remove what an interrupted cast has brought, so that the next one sends it again')
    .option(
      '--resume-limit <limit>',
      'how much interrupted casts may leave: 20GiB, or 10% of the disk (default: 50%)',
    )
    .option(
      '--archive',
      'set the owners, extended attributes and special mode bits that rdmc cast --archive sends',
    )
    .option('--clean', 'only remove what interrupted casts have left in the directory, and end');
}

export function defineReceiveCommand(command: Command, session: Session): void {
  command
    .option(
      '--listen <address[:port]>',
      'where to listen (default: 0.0.0.0:7411 with a key, else 127.0.0.1:7411)',
    )
    .option('--dir <path>', 'receiving directory')
    .option('--mkdir', 'make the directory if it is missing')
    .option('--once', 'end after one cast')
    .option('--require-encryption', 'refuse casts with --no-encrypt')
    .option(
      '--stdout',
      'write the one file of one cast to standard output, and end; only bytes that were checked',
    );
  addMemoryOptions(command);
  addDiskOptions(command)
    .option('--mesh-ports <first-last>', 'ports for the data of casts, two for each at a time (default: any)')
    .option('--metrics <[host:]port>', 'serve metrics for Prometheus by HTTP (default host: 127.0.0.1)')
    .option('--trace <file>', 'with --once: write what this machine waited for, as rdmc cast --trace');
  addKeyOptions(command)
    .option('--device <name>', 'auto, soft, ibverbs (any RDMA device) or a name such as mlx5_0', 'auto')
    .option('--transport <name>', 'auto, shm or tcp; the same at the sender', 'auto')
    .option('-v, --verbose', 'also choices and warnings, with reasons')
    .option('-q, --quiet', 'print errors only')
    .option('--json', 'JSON lines: one event each')
    .option('--log-json', 'log to stderr as JSON, one object per line, instead of text')
    .option(
      '--controlled',
      'mode of rdmc cast --ssh: takes instructions from standard input, and ends with it',
    )
    .action((raw: object) => {
      const { exec } = session;
      return run(parseOptions(receiveSchema, exec ? { ...raw, exec: [...exec] } : raw), session);
    });
  addExecOptions(command);
  addHelpNotes(command, {
    about: [
      'Files appear under their names only when they are complete and their checksum matches that of the sender.',
      'Nothing is written outside of the directory. Without a key, only the same user on this machine can send. Files are',
      'encrypted on their way, unless the sender gives --no-encrypt; --require-encryption refuses such casts. A complete',
      'cast is on disk, unless --no-fsync is given.',
      'With --archive, run as root, every sender with the key can make files that run with the rights of any user.',
      'What an interrupted cast has brought is kept for seven days, in hidden directories, and the next cast of the same',
      'files continues there.',
      'Takes several casts at once, until Ctrl-C (exit code 130) or SIGTERM (0), or with --once until the first has ended.',
      'The command of --exec runs without a shell, in the directory, once for each cast, when everything is on disk. It',
      'gets RDMC_CAST_… in its environment, and on its standard input the names of the paths that were cast, each with',
      'a zero byte behind it. If it fails, the cast fails at this receiver, and the sender is told its exit code; the files stay.',
    ],
    examples: [
      ['rdmc receive --listen 0.0.0.0 --dir /srv/models --key-file cast.key', 'from other hosts'],
      [
        'rdmc receive --listen 10.0.0.5:7500 --mesh-ports 7501-7516 --dir . --key-file cast.key',
        'with fixed ports, for a firewall',
      ],
      ['rdmc receive --listen [::1] --dir /tmp/in --once', 'one cast from this machine'],
      ['rdmc receive --stdout --key-file cast.key | tar x', 'unpack an archive from rdmc cast -'],
      ['rdmc receive --dir /srv --key-file cast.key --exec systemctl reload model', 'after each cast'],
      ["rdmc receive --shm model --tensors 'layers.[0-9].*'", 'a part of a model, in shared memory'],
      ['rdmc receive --dir . --json | jq -c \'select(.event == "complete")\'', 'for programs'],
    ],
    exitCodes: castExitCodes.filter((code) => code !== ExitCode.TERMINATED),
  });
}
