import { closeSync, openSync, writeSync } from 'node:fs';
import type { TraceRecord } from '@rdmc/simulator';
import { CliError, systemReason } from '../errors.js';

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
