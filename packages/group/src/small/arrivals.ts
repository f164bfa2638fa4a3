import type { MemoryRegion } from '@rdmc/verbs';
import { KIB } from '../constants.js';
import { type MessageMemory, ReceivedMessage } from '../received-message.js';
import type { EntryReader } from './entry-reader.js';
import { entryUnits, UNIT_BYTES } from './layout.js';

const LEAST_CHUNK_BYTES = 64 * KIB;
const ENTRIES_PER_CHUNK = 4;
/** Chunks that are kept while nothing is in them. */
const FREE_CHUNKS = 2;

/** Memory for entries that were copied out of the ring. Messages in it are released in any order. */
class Chunk implements MessageMemory {
  readonly view: Uint8Array;
  /** Bytes that are in use, or were since the chunk was empty. */
  used = 0;
  /** Messages that were not released. */
  held = 0;

  constructor(
    readonly region: MemoryRegion,
    readonly senderId: number,
    private readonly emptied: (chunk: Chunk) => void,
  ) {
    this.view = region.view();
  }

  released(): void {
    this.held -= 1;
    if (this.held > 0) return;
    this.used = 0;
    this.emptied(this);
  }
}

/**
 * The small messages of a receiver, copied out of its ring into chunks of registered memory: the ring is free again at once,
 * and a message belongs to the application until it is released. In the application's thread.
 */
export class Arrivals {
  readonly #free: Chunk[] = [];
  readonly #chunkBytes: number;
  #current: Chunk | undefined;
  #growing: Promise<void> | undefined;
  #isClosed = false;
  #messages = 0;
  #bytes = 0;

  constructor(
    private readonly reader: EntryReader,
    mostBytes: number,
    private readonly senderId: number,
    private readonly allocate: (byteLength: number) => Promise<MemoryRegion>,
  ) {
    this.#chunkBytes = Math.max(LEAST_CHUNK_BYTES, ENTRIES_PER_CHUNK * entryUnits(mostBytes) * UNIT_BYTES);
  }

  /** Messages that were copied out, and their bytes. Entries that skip numbers do not count. */
  get messages(): number {
    return this.#messages;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether entries wait in the ring. */
  get isAvailable(): boolean {
    return this.reader.available > 0;
  }

  /** Asks for an event when entries arrive. Look once more afterwards. */
  wantEntries(): void {
    this.reader.wantEntries();
  }

  /**
   * Copies entries out, a chunk at most, and calls `sink` for each. False if there are none, or no memory: then `grow`.
   * @throws EntryViolation, and what `sink` throws
   */
  take(sink: (message: ReceivedMessage) => void): boolean {
    for (;;) {
      this.#current ??= this.#free.pop();
      const chunk = this.#current;
      if (!chunk) return false;
      const used = this.reader.copyOut(chunk.view, chunk.used, (number, offset, byteLength) => {
        chunk.held += 1;
        this.#messages += 1;
        this.#bytes += byteLength;
        sink(new ReceivedMessage(number, chunk.region, offset, byteLength, chunk));
      });
      // Entries that skip numbers do not stay.
      chunk.used = chunk.held === 0 ? 0 : chunk.used + used;
      if (used > 0) return true;
      if (!this.isAvailable || chunk.used === 0) return false;
      // Not even one entry fits behind the others.
      this.#current = undefined;
    }
  }

  /** Allocates a chunk. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  grow(): Promise<void> {
    this.#growing ??= this.#grow().finally(() => {
      this.#growing = undefined;
    });
    return this.#growing;
  }

  /** The group has ended. Chunks with messages stay open until these are released. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#growing?.catch(() => {});
    const empty = this.#free.splice(0);
    if (this.#current?.held === 0) empty.push(this.#current);
    await Promise.all(empty.map(({ region }) => region.close()));
  }

  async #grow(): Promise<void> {
    const region = await this.allocate(this.#chunkBytes);
    if (this.#isClosed) await region.close();
    else this.#free.push(new Chunk(region, this.senderId, (chunk) => this.#emptied(chunk)));
  }

  #emptied(chunk: Chunk): void {
    if (this.#isClosed) void chunk.region.close();
    else if (chunk === this.#current) return;
    else if (this.#free.length < FREE_CHUNKS) this.#free.push(chunk);
    else void chunk.region.close();
  }
}
