import { Buffer } from 'node:buffer';

const HEADER_BYTES = 12;
const MEMORY_BYTES = 64 * 1024 * 1024;

/** The memory of a log's segments, which stand one behind the other in it: an entry has another offset than all others. */
export class EntryMemory {
  /** Pages that nobody writes to do not exist. */
  readonly bytes = Buffer.from(new SharedArrayBuffer(MEMORY_BYTES));
  #end = 0;

  /** Writes an entry with its header, without a checksum. Returns its offset. */
  place(type: number, payload: Buffer): number {
    const offset = this.#end;
    this.#end += HEADER_BYTES + payload.length;
    if (this.#end > MEMORY_BYTES) throw new Error(`the entries of this log are over ${MEMORY_BYTES} bytes`);
    this.bytes[offset] = type;
    this.bytes.writeUInt32LE(payload.length, offset + 4);
    payload.copy(this.bytes, offset + HEADER_BYTES);
    return offset;
  }

  /** The entry is freed: whoever reads it now finds nonsense. */
  free(offset: number): void {
    const end = offset + HEADER_BYTES + this.bytes.readUInt32LE(offset + 4);
    this.bytes.fill(0xff, offset, end);
  }
}
