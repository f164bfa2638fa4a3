import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type FileServer, serveFiles } from '@rdmc/cast';
import { withAdvice } from '../advice.js';
import { ExitCode } from '../exit-codes.js';
import { reachableAddresses } from '../receive/addresses.js';
import type { Terminal } from '../ui/terminal.js';
import { version } from '../version.js';
import type { ServeMetrics } from './metrics.js';
import type { ServeCommandOptions } from './options.js';
import { ServeReporter } from './reporter.js';

async function open(
  options: ServeCommandOptions,
  reporter: ServeReporter,
  signal: AbortSignal,
): Promise<FileServer> {
  const { directory, host, port, key, encrypt, bandwidthLimit, meshPorts, advertise } = options;
  const { stallTimeoutMs, device, transport } = options;
  const wanted = { directory, host, port, key, encrypt, bandwidthLimit, meshPorts, advertise };
  try {
    return await serveFiles({
      ...wanted,
      ...{ stallTimeoutMs, device, transport, signal },
      logger: reporter.logger,
    });
  } catch (error) {
    throw withAdvice(error, 'serve');
  }
}

/** Loaded only with --metrics. */
async function metricsOf({ metrics }: ServeCommandOptions): Promise<ServeMetrics | undefined> {
  if (!metrics) return undefined;
  const { ServeMetrics } = await import('./metrics.js');
  return ServeMetrics.serve(metrics);
}

/**
 * Serves until the signal is aborted.
 * @throws CliError and CastError when it cannot listen; the signal's reason when that is an error
 */
export async function runServe(
  options: ServeCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<ExitCode> {
  const reporter = new ServeReporter(terminal, options);
  const metrics = await metricsOf(options);
  try {
    await serve(options, await open(options, reporter, signal), { reporter, metrics, signal });
  } finally {
    await metrics?.close();
  }
  return ExitCode.OK;
}

interface Beside {
  readonly reporter: ServeReporter;
  readonly metrics: ServeMetrics | undefined;
  readonly signal: AbortSignal;
}

async function serve(
  options: ServeCommandOptions,
  server: FileServer,
  { reporter, metrics, signal }: Beside,
): Promise<void> {
  try {
    const { host, port } = server.address;
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
    for await (const event of server) {
      metrics?.happened(event);
      reporter.happened(event);
    }
  } finally {
    await server.close();
    // After an interrupt, report that rather than an error that it caused.
    signal.throwIfAborted();
  }
}
