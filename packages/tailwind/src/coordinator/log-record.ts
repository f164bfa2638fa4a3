import { z } from 'zod';
import { messageOf, TailwindError } from '../errors.js';
import { u32, u64 } from '../rpc/messages.js';

/** What the coordinator knows of a log. */
export const logRecord = z.object({
  logId: u64,
  incarnation: u32,
  /** The member whose log it is. */
  owner: z.number().int(),
  /** live ─▶ recovering: declared dead, for good ─▶ recovered: others own what was in it. */
  state: z.enum(['live', 'recovering', 'recovered']),
  /** The member that recovers it, or did. */
  recoverer: z.number().int().nullable(),
  /** Counts the attempts to recover it: only the last one may finish. */
  attempt: u32.default(0),
  minimum: z.object({ segmentId: u64, epoch: u32 }),
  /** The logs that hold what was in this one, once it is recovered. */
  successors: z.array(u64),
});
export type LogRecord = z.output<typeof logRecord>;

export function encodeLogRecord(record: LogRecord): string {
  return JSON.stringify(record, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

/** @throws TailwindError ERR_RDMC_STATE_DAMAGED */
export function decodeLogRecord(text: string): LogRecord {
  try {
    return logRecord.parse(JSON.parse(text));
  } catch (error) {
    throw damagedState('the record of a log', error);
  }
}

/** What the state holds is not what a coordinator writes. */
export function damagedState(what: string, cause: unknown): TailwindError {
  return new TailwindError(
    'ERR_RDMC_STATE_DAMAGED',
    `The coordinator's state is damaged: ${what} cannot be read (${messageOf(cause)}). Restore the state from a copy`,
    { cause },
  );
}
