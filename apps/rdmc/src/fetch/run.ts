import { access, constants } from 'node:fs/promises';
import { fetchFiles } from '@rdmc/cast';
import { withAdvice } from '../advice.js';
import { ExitCode } from '../exit-codes.js';
import { makeDirectory } from '../receive/make-directory.js';
import type { Terminal } from '../ui/terminal.js';
import type { FetchCommandOptions } from './options.js';
import { FetchReporter } from './reporter.js';

/**
 * Fetches, and reports the progress.
 * @returns 0 when everything is here, 6 when entries are missing
 * @throws CliError and CastError when the fetch ends early; the signal's reason when it is interrupted
 */
export async function runFetch(
  options: FetchCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<ExitCode> {
  const reporter = new FetchReporter(terminal, options);
  try {
    const { host, port, name, directory, key, compare, fsync, waitMs, serveOnMs } = options;
    const { meshPorts, device, transport } = options;
    if (options.makeDirectory) await makeDirectory(directory);
    const { logger } = reporter;
    const wanted = { name, directory, key, compare, fsync, waitMs, serveOnMs, meshPorts, device, transport };
    const fetching = fetchFiles({ from: { host, port }, ...wanted, signal, logger });
    for await (const snapshot of fetching) reporter.progress(snapshot);
    const summary = await fetching.finished;
    const exitCode = summary.problemCount > 0 ? ExitCode.PARTIAL : ExitCode.OK;
    reporter.finished(summary, exitCode);
    return exitCode;
  } catch (error) {
    reporter.clear();
    // After an interrupt, report that rather than an error that it caused.
    signal.throwIfAborted();
    // The same codes are about this directory, or about what the server has.
    throw withAdvice(error, (await isUsable(options.directory)) ? 'fetch' : 'receive');
  }
}

async function isUsable(directory: string): Promise<boolean> {
  try {
    await access(`${directory}/`, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
