import { z } from 'zod';
import { messageOf, TailwindError } from '../errors.js';
import { u32, u64 } from '../rpc/messages.js';

/** A segment of a log whose loss was accepted, and how much of it is there at least. */
export const salvagedSegment = z.object({ segmentId: u64, byteLength: u32 });
export type SalvagedSegment = z.output<typeof salvagedSegment>;

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
  /** The coordinator's run in which it began: a recoverer of another run recovers nothing now. */
  recovererRun: z.string().nullable().default(null),
  /** Counts the attempts to recover it: only the last one may finish. */
  attempt: u32.default(0),
  minimum: z.object({ segmentId: u64, epoch: u32 }),
  /** The logs that hold what was in this one, once it is recovered. */
  successors: z.array(u64),
  /** Not null: somebody accepted that the log is incomplete. Its recovery takes these segments, and no others. */
  salvage: z.array(salvagedSegment).nullable().default(null),
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
