import { closeSync, openSync } from 'node:fs';
import { CliError, codeOf, systemReason } from '../errors.js';
import type { Terminal } from '../ui/terminal.js';
import { traceDocument } from './document.js';
import { readTraces, writeTrace } from './files.js';
import { describeDelays } from './report.js';

/** Creates or empties the file, so that a wrong path is known before the work. @throws CliError */
export function checkOutput(path: string): void {
  try {
    closeSync(openSync(path, 'w'));
  } catch (cause) {
    throw new CliError(
      codeOf(cause) ?? 'ERR_RDMC_FILE',
      `cannot write the trace ${path}: ${systemReason(cause)}`,
      { cause },
    );
  }
}

/** Writes the traces of several processes of this host as one, and says who delays whom. */
export async function writeTogether(
  paths: readonly string[],
  output: string,
  terminal: Pick<Terminal, 'note'>,
): Promise<void> {
  const trace = await readTraces(paths, false);
  await writeTrace(trace, output);
  const document = traceDocument(trace);
  terminal.note('', ...describeDelays(document), `The trace is in ${output}`);
}
