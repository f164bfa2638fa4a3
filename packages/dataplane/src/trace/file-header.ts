import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import {
  FILE_CLOCK_OFFSET,
  FILE_HEADER_BYTES,
  FILE_HOST_OFFSET,
  FILE_MAGIC,
  RECORD_BYTES,
  TRACE_VERSION,
} from './layout.js';

const CLOCK_BYTES = 16;
const HOST_BYTES = FILE_HEADER_BYTES - FILE_HOST_OFFSET;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** The header of a trace file. */
export interface TraceHeader {
  /** When the file was begun, in milliseconds since 1970. */
  readonly wallMs: number;
  /** The same moment on the trace's clock, in nanoseconds. */
  readonly clockNs: number;
  /** Names the clock, in hexadecimal: times of files with the same value can be compared. Zeros: a simulation's clock. */
  readonly clock: string;
  /** The host that wrote the file. */
  readonly host: string;
}

/** The clock of simulations. */
export const SIMULATED_CLOCK = '0'.repeat(2 * CLOCK_BYTES);

/** The header of a file that this process begins now. */
export function ownHeader(): TraceHeader {
  return {
    wallMs: Date.now(),
    clockNs: Number(process.hrtime.bigint()),
    clock: bootId(),
    host: hostname(),
  };
}

/** Without /proc the clock counts as one of its own. */
function bootId(): string {
  try {
    return readFileSync(BOOT_ID, 'latin1').replace(/[^0-9a-f]/g, '');
  } catch {
    return randomBytes(CLOCK_BYTES).toString('hex');
  }
}

/** The header's bytes. */
export function encodeHeader({ wallMs, clockNs, clock, host }: TraceHeader): Uint8Array {
  const bytes = new Uint8Array(FILE_HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(Buffer.from(FILE_MAGIC, 'latin1'));
  view.setUint32(8, TRACE_VERSION, true);
  view.setUint32(12, RECORD_BYTES, true);
  view.setFloat64(16, wallMs, true);
  view.setFloat64(24, clockNs, true);
  bytes.set(Buffer.from(clock, 'hex'), FILE_CLOCK_OFFSET);
  new TextEncoder().encodeInto(host, bytes.subarray(FILE_HOST_OFFSET, FILE_HOST_OFFSET + HOST_BYTES));
  return bytes;
}

/** Why these bytes are not the header of a trace that this version reads; undefined if they are. */
export function headerFault(bytes: Uint8Array): string | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = Buffer.from(bytes.subarray(0, FILE_MAGIC.length)).toString('latin1');
  if (magic !== FILE_MAGIC.slice(0, magic.length) || magic === '') return 'it is not a trace';
  if (bytes.byteLength < FILE_HEADER_BYTES)
    return `it ends within its header, after ${bytes.byteLength} bytes`;
  const version = view.getUint32(8, true);
  if (version === TRACE_VERSION && view.getUint32(12, true) === RECORD_BYTES) return undefined;
  return `it has version ${version}, this package reads version ${TRACE_VERSION}`;
}

/** Reads a header in which {@link headerFault} found no fault. */
export function decodeHeader(bytes: Uint8Array): TraceHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const clock = bytes.subarray(FILE_CLOCK_OFFSET, FILE_CLOCK_OFFSET + CLOCK_BYTES);
  const host = bytes.subarray(FILE_HOST_OFFSET, FILE_HEADER_BYTES);
  const end = host.indexOf(0);
  return {
    wallMs: view.getFloat64(16, true),
    clockNs: view.getFloat64(24, true),
    clock: Buffer.from(clock).toString('hex'),
    host: new TextDecoder().decode(end === -1 ? host : host.subarray(0, end)),
  };
}
