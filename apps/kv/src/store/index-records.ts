const FIELDS = 4;
const [NEXT, HASH, SEGMENT, OFFSET] = [0, 1, 2, 3] as const;
const CHUNK_SHIFT = 16;
const CHUNK_RECORDS = 1 << CHUNK_SHIFT;
const CHUNK_BYTES = CHUNK_RECORDS * FIELDS * 4;
const CHUNK_MASK = CHUNK_RECORDS - 1;

/** No record. */
export const NONE = 0;

/**
 * The records of an index. They lie in shared memory, although one thread only has it: the garbage collector neither marks nor
 * counts that. Chunks of a mebibyte, so that nothing is copied when there are more.
 *
 * ```
 * record, u32 each:  next      of the same bucket, or of the free ones; 0: none
 *                    hash      of the key
 *                    segment   number of the log's segment in `LogMemory`
 *                    offset    of the entry's header in the segment
 * ```
 */
export class IndexRecords {
  #chunks: Uint32Array[] = [];
  /** The number of the next record that has never been used; 0 stands for none. */
  #fresh = 1;
  #free = NONE;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Memory that the records take, with free ones. */
  get bytes(): number {
    return this.#chunks.length * CHUNK_BYTES;
  }

  add(next: number, hash: number, segment: number, offset: number): number {
    const record = this.#take();
    const chunk = this.#chunks[record >>> CHUNK_SHIFT]!;
    const at = (record & CHUNK_MASK) * FIELDS;
    chunk[at + NEXT] = next;
    chunk[at + HASH] = hash;
    chunk[at + SEGMENT] = segment;
    chunk[at + OFFSET] = offset;
    return record;
  }

  /** The record must not be in a bucket any more. */
  remove(record: number): void {
    this.#count -= 1;
    if (this.#count === 0) {
      // The first one stays: an only key may come and go with each write.
      this.#chunks.length = 1;
      this.#fresh = 1;
      this.#free = NONE;
      return;
    }
    this.setNext(record, this.#free);
    this.#free = record;
  }

  next(record: number): number {
    return this.#chunks[record >>> CHUNK_SHIFT]![(record & CHUNK_MASK) * FIELDS + NEXT]!;
  }

  hash(record: number): number {
    return this.#chunks[record >>> CHUNK_SHIFT]![(record & CHUNK_MASK) * FIELDS + HASH]!;
  }

  segment(record: number): number {
    return this.#chunks[record >>> CHUNK_SHIFT]![(record & CHUNK_MASK) * FIELDS + SEGMENT]!;
  }

  offset(record: number): number {
    return this.#chunks[record >>> CHUNK_SHIFT]![(record & CHUNK_MASK) * FIELDS + OFFSET]!;
  }

  setNext(record: number, next: number): void {
    this.#chunks[record >>> CHUNK_SHIFT]![(record & CHUNK_MASK) * FIELDS + NEXT] = next;
  }

  setPlace(record: number, segment: number, offset: number): void {
    const chunk = this.#chunks[record >>> CHUNK_SHIFT]!;
    const at = (record & CHUNK_MASK) * FIELDS;
    chunk[at + SEGMENT] = segment;
    chunk[at + OFFSET] = offset;
  }

  #take(): number {
    this.#count += 1;
    if (this.#free !== NONE) {
      const record = this.#free;
      this.#free = this.next(record);
      return record;
    }
    const record = this.#fresh;
    this.#fresh += 1;
    if (record >>> CHUNK_SHIFT === this.#chunks.length) {
      this.#chunks.push(new Uint32Array(new SharedArrayBuffer(CHUNK_BYTES)));
    }
    return record;
  }
}
