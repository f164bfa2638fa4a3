import { closeSync, openSync, writeFileSync } from 'node:fs';
import { SIMULATED_CLOCK, type TraceEvent } from '@rdmc/dataplane/trace';
import type { TraceRecord } from '@rdmc/simulator';
import { type CliError, fileError } from '../errors.js';
import { traceDocument } from '../trace/document.js';
import { writeTrace as saveTrace } from '../trace/files.js';
import { describeDelays } from '../trace/report.js';
import type { Terminal } from '../ui/terminal.js';

/** Writes what live groups would have recorded, and says who delays whom. */
export async function writeLive(
  records: readonly TraceEvent[],
  path: string,
  terminal: Pick<Terminal, 'note'>,
): Promise<void> {
  const header = { wallMs: Date.now(), clockNs: 0, clock: SIMULATED_CLOCK, host: 'simulation' };
  const trace = { header, events: records, dropped: 0, notes: ['times are simulated'] };
  await saveTrace(trace, path);
  terminal.note(...describeDelays(traceDocument(trace)), '');
}

/** Opens the file before the run, so that a wrong path is known at once. */
export function openTrace(path: string): number {
  try {
    return openSync(path, 'w');
  } catch (error) {
    throw writeError(path, error);
  }
}

/** One line of JSON per member and step; closes the file. */
export function writeTrace(file: number, path: string, records: readonly TraceRecord[]): void {
  try {
    for (const record of records) writeFileSync(file, `${JSON.stringify(record)}\n`);
  } catch (error) {
    throw writeError(path, error);
  } finally {
    closeSync(file);
  }
}

function writeError(path: string, cause: unknown): CliError {
  return fileError(`cannot write the trace ${path}`, cause);
}
