// This entry point does not use APIs of Node.js; this package must run without them.
import { errorTable, optionErrors, RdmcError } from '@rdmc/common/errors';

/** Every code that a {@link ScheduleError} can carry. They are stable; messages are not. */
export const scheduleErrors = errorTable({
  ERR_RDMC_UNKNOWN_OPTION: optionErrors.ERR_RDMC_UNKNOWN_OPTION,
  ERR_RDMC_UNKNOWN_ALGORITHM: ['usage', 'no algorithm has this name', 'take one of `algorithms`'],
  ERR_RDMC_INVALID_NODES: ['usage', '`nodes` is out of range', 'from 2 to 1,048,576'],
  ERR_RDMC_INVALID_BLOCKS: ['usage', '`blocks` is out of range', 'from 1 to 2^32'],
  ERR_RDMC_INVALID_RACKS: ['usage', '`racks` does not fit the nodes', 'one text or number for each node'],
  ERR_RDMC_INVALID_RANK: ['usage', 'a rank is out of range', 'from 0 to `nodes` − 1'],
  ERR_RDMC_INVALID_STEP: ['usage', 'a step is out of range', 'from 0 to `steps` − 1'],
  ERR_RDMC_INVALID_RATIO: ['usage', 'the ratio of a slow link is out of range', 'above 0, at most 1'],
});
/** The stable codes of this package's errors; `scheduleErrors` has their meaning. */
export type ScheduleErrorCode = keyof typeof scheduleErrors;

/** The error of this package for bad input. Tell cases apart by `code`, never by the message. */
export class ScheduleError extends RdmcError<ScheduleErrorCode> {
  override readonly name = 'ScheduleError';
}

/** Formats a value for a message: short, and strings in quotes. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  return Array.isArray(value) ? `an array of ${value.length}` : `a value of type ${typeof value}`;
}
