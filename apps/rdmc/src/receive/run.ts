import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type FileReceiver, type ReceiveOptions, type ReceiverEvent, receiveFiles } from '@rdmc/cast';
import { withAdvice } from '../advice.js';
import { exitCodeOf } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { recorded } from '../trace/recording.js';
import { type Terminal, withoutStandardOutput } from '../ui/terminal.js';
import { version } from '../version.js';
import { reachableAddresses } from './addresses.js';
import { findProgram, runCommand } from './command.js';
import { makeDirectory } from './make-directory.js';
import type { ReceiveMetrics } from './metrics.js';
import type { ReceiveCommandOptions } from './options.js';
import { ReceiveReporter } from './reporter.js';
import { standardOutputSink } from './standard-output.js';

type Destination = Pick<
  ReceiveOptions,
  'directory' | 'sink' | 'oneFile' | 'sharedMemory' | 'parts' | 'afterCast'
>;

/** The directory of shared memory. */
const SHARED_DIRECTORY = '/dev/shm';

/** Where files go, and what runs afterwards. @throws CliError ERR_RDMC_USAGE where the command of --exec does not exist */
async function destinationOf(options: ReceiveCommandOptions): Promise<Destination> {
  const { directory, stdout, sharedMemory, parts, exec } = options;
  if (stdout) return { sink: standardOutputSink(), oneFile: true };
  const files = sharedMemory === undefined ? { directory } : { sharedMemory, parts };
  if (!exec) return files;
  const [name = '', ...args] = exec.argv;
  const program = await findProgram(name);
  const command = {
    program,
    args,
    directory: resolve(directory ?? SHARED_DIRECTORY),
    timeoutMs: exec.timeoutMs,
  };
  return { ...files, afterCast: (cast, signal) => runCommand(command, cast, signal) };
}

async function open(
  options: ReceiveCommandOptions,
  destination: Destination,
  reporter: ReceiveReporter,
  { signal, trace }: Pick<ReceiveOptions, 'signal' | 'trace'>,
): Promise<FileReceiver> {
  const { host, port, key, once, requireEncryption, fsync, meshPorts, device, transport } = options;
  const { resume, resumeLimit, archive } = options;
  const { logger } = reporter;
  const wanted = { host, port, key, once, requireEncryption, fsync, meshPorts, device, transport };
  try {
    return await receiveFiles({
      ...wanted,
      resume,
      resumeLimit,
      archive,
      ...destination,
      signal,
      trace,
      logger,
    });
  } catch (error) {
    throw withAdvice(error, 'receive');
  }
}

/** The exit code of the command after this last event. */
function exitCodeAfter(event: ReceiverEvent): ExitCode {
  if (event.type === 'failed') return exitCodeOf(event);
  if (event.type === 'complete' && event.problemCount > 0) return ExitCode.PARTIAL;
  return ExitCode.OK;
}

/**
 * Receives until the signal is aborted, or with `once` until the first cast has ended.
 * @returns the exit code of the last cast: 0, 6 when some entries are missing, or the code of its failure
 * @throws CliError and CastError when it cannot listen; the signal's reason when that is an error
 */
export async function runReceive(
  options: ReceiveCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<ExitCode> {
  const reporter = new ReceiveReporter(options.stdout ? withoutStandardOutput(terminal) : terminal, options);
  const { directory } = options;
  const destination = await destinationOf(options);
  if (options.makeDirectory && directory !== undefined) await makeDirectory(directory);
  const metrics = await metricsOf(options);
  const { trace: path, quiet, json } = options;
  try {
    return await recorded(path, quiet || json ? undefined : terminal, async (trace) => {
      const receiver = await open(options, destination, reporter, { signal, trace });
      return receive(options, receiver, reporter, metrics, signal);
    });
  } finally {
    await metrics?.close();
  }
}

/** Loaded only with --metrics. */
async function metricsOf({ metrics }: ReceiveCommandOptions): Promise<ReceiveMetrics | undefined> {
  if (!metrics) return undefined;
  const { ReceiveMetrics } = await import('./metrics.js');
  return ReceiveMetrics.serve(metrics);
}

async function receive(
  options: ReceiveCommandOptions,
  receiver: FileReceiver,
  reporter: ReceiveReporter,
  metrics: ReceiveMetrics | undefined,
  signal: AbortSignal,
): Promise<ExitCode> {
  let exitCode: ExitCode = ExitCode.OK;
  try {
    const { host, port } = receiver.address;
    reporter.listening({
      event: 'listening',
      ...{ host, port, version },
      directory: options.directory === undefined ? null : resolve(options.directory),
      sharedMemory: options.sharedMemory ?? null,
      keyed: options.key !== undefined,
      pid: process.pid,
      hostName: hostname(),
      addresses: reachableAddresses(process.env),
      metrics: metrics?.url ?? null,
    });
    for await (const event of receiver) {
      metrics?.happened(event);
      reporter.happened(event);
      exitCode = exitCodeAfter(event);
    }
  } finally {
    await receiver.close();
    // After an interrupt, report that rather than an error that it caused.
    signal.throwIfAborted();
  }
  return exitCode;
}
