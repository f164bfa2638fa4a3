import { closeSync, fstatSync, ftruncateSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import { CastError } from '../../errors.js';
import {
  INDEX_BYTES,
  INDEX_MAGIC,
  INDEX_STATE_AT,
  INDEX_VERSION,
  INDEX_VERSION_AT,
  IndexState,
  type IndexStateValue,
  RECORD_ALIGNMENT,
  RECORD_BYTES_AT,
  RECORD_COMPLETE,
  RECORD_HEADER_BYTES,
  RECORD_STATE_AT,
  RECORDS_AT,
} from './layout.js';
import { writeFully } from './segments.js';
import type { SharedRecord } from './shared-record.js';

/** Makes a file that nobody has yet. @throws errors of the system */
export function createPrivate(path: string, bytes: number): number {
  // 'x' also refuses a symbolic link.
  const descriptor = openSync(path, 'wx+', 0o600);
  return orRemoved(descriptor, path, () => {
    ftruncateSync(descriptor, bytes);
    return descriptor;
  });
}

/** Writes the index of a cast. */
export class IndexWriter {
  readonly #descriptor: number;
  #end = RECORDS_AT;

  /** @param temporary path of the new index until it has its header @throws errors of the system */
  constructor(temporary: string, path: string) {
    this.#descriptor = createPrivate(temporary, INDEX_BYTES);
    const header = Buffer.alloc(RECORDS_AT);
    INDEX_MAGIC.copy(header);
    header.writeUInt32LE(INDEX_VERSION, INDEX_VERSION_AT);
    header.writeUInt32LE(IndexState.ARRIVING, INDEX_STATE_AT);
    orRemoved(this.#descriptor, temporary, () => {
      writeFully(this.#descriptor, header, 0);
      renameSync(temporary, path);
    });
  }

  /** Adds a record: what it says must be whole. @throws CastError ERR_RDMC_NO_SPACE; errors of the system */
  add(record: SharedRecord): void {
    const json = Buffer.from(JSON.stringify(record));
    const length = Math.ceil((RECORD_HEADER_BYTES + json.length) / RECORD_ALIGNMENT) * RECORD_ALIGNMENT;
    if (this.#end + length > INDEX_BYTES)
      throw new CastError(
        'ERR_RDMC_NO_SPACE',
        `the index of the shared memory has only ${INDEX_BYTES} bytes`,
      );
    const bytes = Buffer.alloc(length);
    bytes.writeUInt32LE(json.length, RECORD_BYTES_AT);
    json.copy(bytes, RECORD_HEADER_BYTES);
    writeFully(this.#descriptor, bytes, this.#end);
    writeState(this.#descriptor, this.#end + RECORD_STATE_AT, RECORD_COMPLETE);
    this.#end += length;
  }

  setState(state: IndexStateValue): void {
    writeState(this.#descriptor, INDEX_STATE_AT, state);
  }

  /** The cast has failed: removes the name, unless another index has it already. */
  remove(path: string): void {
    this.setState(IndexState.FAILED);
    const named = lstatSync(path, { throwIfNoEntry: false });
    if (named?.ino === fstatSync(this.#descriptor).ino) rmSync(path, { force: true });
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

function writeState(descriptor: number, at: number, state: number): void {
  const word = Buffer.alloc(4);
  word.writeUInt32LE(state);
  writeFully(descriptor, word, at);
}

/** A new file that cannot be made ready is closed and removed: nobody else knows of it. @throws what `action` throws */
function orRemoved<T>(descriptor: number, path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    closeSync(descriptor);
    rmSync(path, { force: true });
    throw error;
  }
}
