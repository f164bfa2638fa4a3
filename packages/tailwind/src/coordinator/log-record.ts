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

/** A segment of a log whose loss was accepted, and the minimum length of what is left of it. */
export const salvagedSegment = openRecord({ segmentId: u64, byteLength: u32 });
/** A segment of a log whose loss was accepted. */
export type SalvagedSegment = Shaped<typeof salvagedSegment>;

/** The coordinator's record of a log. */
export const logRecord = openRecord({
  logId: u64,
  incarnation: u32,
  /** The member that owns the log. */
  owner: whole(),
  /** The mesh's incarnation of the process that owns it; 0 with a fixed list of members. */
  ownerIncarnation: withDefault(whole(), 0),
  /** live ─▶ recovering: declared dead, for good ─▶ recovered: its data belongs to its successors. */
  state: choice(['live', 'recovering', 'recovered']),
  /** The member that recovers it, or did. */
  recoverer: nullable(whole()),
  /** The run of the coordinator in which the recovery began: a recovery of another run cannot finish. */
  recovererRun: withDefault(nullable(text()), null),
  /** Counts the attempts to recover it: only the last one may finish. */
  attempt: withDefault(u32, 0),
  minimum: openRecord({ segmentId: u64, epoch: u32 }),
  /** The logs that have the data of this one, once it is recovered. */
  successors: list(u64),
  /** Not null after the loss of data was accepted. The recovery then uses exactly these segments. */
  salvage: withDefault(nullable(list(salvagedSegment)), null),
});
/** The coordinator's record of a log. */
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

/** The error of a state that a coordinator cannot have written. */
export function damagedState(what: string, cause: unknown): TailwindError {
  return new TailwindError(
    'ERR_RDMC_STATE_DAMAGED',
    `The coordinator's state is damaged: ${what} cannot be read (${messageOf(cause)}). Restore the state from a copy`,
    { cause },
  );
}
