import { DataPlaneError } from '../errors.js';
import { decodeHeader, headerFault, type TraceHeader } from './file-header.js';
import { FILE_HEADER_BYTES, RECORD_BYTES, TraceKind } from './layout.js';
import { decodeRecords, type TraceEvent } from './records.js';

/** A trace file in memory. */
export interface Trace extends TraceHeader {
  /** All records, without END; those of one thread are in the order of their times. */
  readonly events: readonly TraceEvent[];
  /** Records that were overwritten before they could be read. */
  readonly dropped: number;
  /** The file was cut short: `events` are those of the valid part. Only with the option `partial`. */
  readonly isCut: boolean;
}

/** The options of {@link decodeTrace}. */
export interface DecodeOptions {
  /** Take the valid part of a file that was cut short (default: false). */
  readonly partial?: boolean;
  /** What messages call the file (default 'the trace'). */
  readonly name?: string;
}

/**
 * Decodes the bytes of a trace file.
 * @throws DataPlaneError ERR_RDMC_INVALID_TRACE if it is not a trace, is one of another version, or is damaged;
 *   ERR_RDMC_TRACE_CUT if it ends early, as the file of a process that was killed: the message says how much is valid
 */
export function decodeTrace(bytes: Uint8Array, options: DecodeOptions = {}): Trace {
  const { partial = false, name = 'the trace' } = options;
  const fault = headerFault(bytes);
  if (fault !== undefined) throw new DataPlaneError('ERR_RDMC_INVALID_TRACE', `${name}: ${fault}`);
  const body = bytes.subarray(FILE_HEADER_BYTES);
  const events = decodeRecords(body);
  const odd = events.findIndex((event) => !isPossible(event));
  if (odd !== -1) {
    const at = FILE_HEADER_BYTES + odd * RECORD_BYTES;
    throw new DataPlaneError(
      'ERR_RDMC_INVALID_TRACE',
      `${name}: record ${odd}, at byte ${at}, is damaged; the ${odd} records before it are valid`,
    );
  }
  const isWhole = isEnded(events, body.byteLength);
  if (isWhole) events.pop();
  else if (!partial) throw cutError(name, events.length, bytes.byteLength);
  return { ...decodeHeader(bytes), events, dropped: droppedOf(events), isCut: !isWhole };
}

function isPossible({ time, kind }: { time: number; kind: number }): boolean {
  return Number.isFinite(time) && time >= 0 && kind !== 0;
}

/** Sum of the DROPPED records. */
function droppedOf(events: readonly TraceEvent[]): number {
  let dropped = 0;
  for (const { kind, block } of events) if (kind === TraceKind.DROPPED) dropped += block;
  return dropped;
}

function isEnded(events: readonly TraceEvent[], byteLength: number): boolean {
  const last = events.at(-1);
  if (last?.kind !== TraceKind.END || byteLength % RECORD_BYTES !== 0) return false;
  return last.message + last.block * 2 ** 32 === events.length - 1;
}

function cutError(name: string, records: number, byteLength: number): DataPlaneError {
  const valid = FILE_HEADER_BYTES + records * RECORD_BYTES;
  return new DataPlaneError(
    'ERR_RDMC_TRACE_CUT',
    `${name}: it was cut short at byte ${byteLength}: its end is missing; the first ${valid} bytes, with ` +
      `${records} records, are valid`,
  );
}
