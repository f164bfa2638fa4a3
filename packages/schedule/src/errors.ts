/** Stable codes of {@link ScheduleError}. */
export type ScheduleErrorCode =
  | 'ERR_RDMC_UNKNOWN_ALGORITHM'
  | 'ERR_RDMC_INVALID_NODES'
  | 'ERR_RDMC_INVALID_BLOCKS'
  | 'ERR_RDMC_INVALID_RANK'
  | 'ERR_RDMC_INVALID_RACKS'
  | 'ERR_RDMC_INVALID_STEP'
  | 'ERR_RDMC_INVALID_RATIO'
  | 'ERR_RDMC_UNKNOWN_OPTION';

/** What this package throws for bad input. Tell cases apart by `code`, never by the message. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  readonly code: ScheduleErrorCode;

  constructor(code: ScheduleErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** How a value appears in a message: short, and a string is recognisable as one. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  return Array.isArray(value) ? `an array of ${value.length}` : `a value of type ${typeof value}`;
}
