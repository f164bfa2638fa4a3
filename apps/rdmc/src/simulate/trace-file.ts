import { closeSync, openSync, writeSync } from 'node:fs';
import { SIMULATED_CLOCK, type TraceEvent } from '@rdmc/dataplane/trace';
import type { TraceRecord } from '@rdmc/simulator';
import { CliError, systemReason } from '../errors.js';
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
    throw new CliError('ERR_RDMC_FILE', `cannot write the trace: ${systemReason(error)}`, { cause: error });
  }
}

/** One line of JSON per member and step; closes the file. */
export function writeTrace(file: number, records: readonly TraceRecord[]): void {
  try {
    for (const record of records) writeSync(file, `${JSON.stringify(record)}\n`);
  } catch (error) {
    throw new CliError('ERR_RDMC_FILE', `cannot write the trace: ${systemReason(error)}`, { cause: error });
  } finally {
    closeSync(file);
  }
}
