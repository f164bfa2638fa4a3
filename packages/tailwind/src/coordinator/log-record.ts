import {
  choice,
  list,
  nullable,
  openRecord,
  readShape,
  type Shaped,
  text,
  whole,
  withDefault,
} from '@rdmc/common/shapes';
import { messageOf, TailwindError } from '../errors.js';
import { u32, u64 } from '../rpc/messages.js';

/** A segment of a log whose loss was accepted, and how much of it is there at least. */
export const salvagedSegment = openRecord({ segmentId: u64, byteLength: u32 });
export type SalvagedSegment = Shaped<typeof salvagedSegment>;

/** What the coordinator knows of a log. */
export const logRecord = openRecord({
  logId: u64,
  incarnation: u32,
  /** The member whose log it is. */
  owner: whole(),
  /** live ─▶ recovering: declared dead, for good ─▶ recovered: others own what was in it. */
  state: choice(['live', 'recovering', 'recovered']),
  /** The member that recovers it, or did. */
  recoverer: nullable(whole()),
  /** The coordinator's run in which it began: a recoverer of another run recovers nothing now. */
  recovererRun: withDefault(nullable(text()), null),
  /** Counts the attempts to recover it: only the last one may finish. */
  attempt: withDefault(u32, 0),
  minimum: openRecord({ segmentId: u64, epoch: u32 }),
  /** The logs that hold what was in this one, once it is recovered. */
  successors: list(u64),
  /** Not null: somebody accepted that the log is incomplete. Its recovery takes these segments, and no others. */
  salvage: withDefault(nullable(list(salvagedSegment)), null),
});
export type LogRecord = Shaped<typeof logRecord>;

export function encodeLogRecord(record: LogRecord): string {
  return JSON.stringify(record, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

/** @throws TailwindError ERR_RDMC_STATE_DAMAGED */
export function decodeLogRecord(text: string): LogRecord {
  try {
    return readShape(logRecord, JSON.parse(text));
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
