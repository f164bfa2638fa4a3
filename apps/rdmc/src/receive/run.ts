import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type FileReceiver, type ReceiverEvent, receiveFiles } from '@rdmc/cast';
import { CliError, codeOf, exitCodeOf, messageOf } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import type { Terminal } from '../ui/terminal.js';
import { version } from '../version.js';
import { reachableAddresses } from './addresses.js';
import type { ReceiveMetrics } from './metrics.js';
import type { ReceiveCommandOptions } from './options.js';
import { ReceiveReporter } from './reporter.js';

async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw new CliError(codeOf(error) ?? 'ERR_RDMC_FILE', `cannot make ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function open(
  options: ReceiveCommandOptions,
  reporter: ReceiveReporter,
  signal: AbortSignal,
): Promise<FileReceiver> {
  const { host, port, key, once, requireEncryption, fsync, meshPorts, device, transport, directory } =
    options;
  const { logger } = reporter;
  const wanted = { host, port, key, once, requireEncryption, fsync, meshPorts, device, transport, directory };
  return receiveFiles({ ...wanted, signal, logger });
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
  const reporter = new ReceiveReporter(terminal, options);
  if (options.makeDirectory) await makeDirectory(options.directory);
  const metrics = await metricsOf(options);
  try {
    return await receive(options, reporter, metrics, signal);
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
  reporter: ReceiveReporter,
  metrics: ReceiveMetrics | undefined,
  signal: AbortSignal,
): Promise<ExitCode> {
  const receiver = await open(options, reporter, signal);
  let exitCode: ExitCode = ExitCode.OK;
  try {
    const { host, port } = receiver.address;
    reporter.listening({
      event: 'listening',
      ...{ host, port, version },
      directory: resolve(options.directory),
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
