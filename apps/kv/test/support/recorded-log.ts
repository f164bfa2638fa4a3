import {
  type AppendLocation,
  decodeObject,
  decodeTombstone,
  type EntryLocation,
  EntryType,
  type LogEntry,
} from '@rdmc/tailwind';
import { Imports, type PartOfLog } from '../../src/cluster/imports.js';
import type { CommitLog, CommitTicket } from '../../src/log/commit-log.js';
import { NoLog } from '../../src/log/no-log.js';
import { StoreCleaner } from '../../src/log/store-cleaner.js';
import { Keyspace } from '../../src/store/keyspace.js';
import { logEntries, splitKey } from '../../src/store/record.js';
import { slotOf } from '../../src/store/slot.js';
import { Store } from '../../src/store/store.js';
import { EntryMemory } from './entry-memory.js';
import type { ModelValue } from './hash-model.js';

/** An entry as a segment has it. */
export interface RecordedEntry {
  readonly type: number;
  readonly payload: Buffer;
  readonly location: EntryLocation;
}

/** Keeps what it gets in segments of a few appends, and acknowledges at once. Can be cleaned, and recovered. */
export class RecordedLog implements CommitLog {
  readonly replicas = 0;
  readonly maxAppendBytes = 1024 * 1024;
  readonly ended = new AbortController().signal;
  readonly isShort = false;
  readonly usage = { bytes: 0, liveBytes: 0, segments: 0, limitBytes: 1e9 };
  /** Entries of each append, in order. */
  readonly appends: RecordedEntry[][] = [];
  segments = new Map<bigint, RecordedEntry[]>();
  readonly dead: (location: EntryLocation) => void;
  readonly deadOffsets = new Set<number>();
  readonly #memory = new EntryMemory();
  #segment = 1n;

  constructor(private readonly appendsPerSegment = 4) {
    this.dead = ({ offset }) => {
      if (this.deadOffsets.has(offset)) throw new Error(`entry ${offset} was reported twice`);
      this.deadOffsets.add(offset);
    };
  }

  append(entries: readonly LogEntry[]): CommitTicket {
    if (this.appends.length % this.appendsPerSegment === 0) this.#segment += 1n;
    const recorded = entries.map(({ type, parts }) => this.#place(this.#segment, type, Buffer.concat(parts)));
    this.appends.push(recorded);
    const locations = recorded.map(({ location }) => location);
    return { location: locationOf(locations), acknowledged: undefined };
  }

  appendRun(pieces: readonly Buffer[]): CommitTicket {
    return this.append([...logEntries(pieces)]);
  }

  memory(segmentId: bigint): Buffer | undefined {
    return this.segments.has(segmentId) ? this.#memory.bytes : undefined;
  }

  /** As the log's cleaner: live entries of some closed segments move to a new one, the others disappear. */
  clean(keyspace: Keyspace, which: (index: number) => boolean): void {
    const cleaner = new StoreCleaner(keyspace, this.dead);
    const closed = [...this.segments].filter(([id]) => id !== this.#segment && this.mayClean(id));
    const cleaned = closed.filter((_, index) => which(index));
    for (const [id] of cleaned) this.segments.delete(id);
    const all = cleaned.flatMap(([, entries]) => entries);
    const kept = all.filter((entry) => this.#isKept(entry, all, cleaner));
    this.#segment += 1n;
    const survivor = this.#segment;
    this.#segment += 1n;
    for (const { type, payload, location } of kept) {
      const copy = this.#place(survivor, type, payload);
      if (type === EntryType.OBJECT)
        cleaner.moved({ type, payload, offset: copy.location.offset }, location, copy.location);
    }
    for (const { location } of all) this.#memory.free(location.offset);
  }

  /** The entries that a recovery finds. */
  get entries(): RecordedEntry[] {
    return [...this.segments.values()].flat();
  }

  /** Segments with appends that are not acknowledged stay. */
  protected mayClean(_segmentId: bigint): boolean {
    return true;
  }

  #isKept(entry: RecordedEntry, all: readonly RecordedEntry[], cleaner: StoreCleaner): boolean {
    const { type, payload, location } = entry;
    if (type === EntryType.OBJECT) return cleaner.isLive({ type, payload, offset: location.offset });
    const tombstone = decodeTombstone(payload);
    const isSame = (key: Uint8Array): boolean => Buffer.compare(key, tombstone.key) === 0;
    const isNewest = all.every(({ type: other, payload: bytes }) => {
      if (other !== EntryType.TOMBSTONE) return true;
      const { key, version } = decodeTombstone(bytes);
      return !isSame(key) || version <= tombstone.version;
    });
    if (!isNewest || !cleaner.needsTombstone(tombstone)) return false;
    return this.entries.some(
      ({ type: other, payload: bytes }) => other === EntryType.OBJECT && isSame(decodeObject(bytes).key),
    );
  }

  #place(segmentId: bigint, type: number, payload: Buffer): RecordedEntry {
    const entry = { type, payload, location: { segmentId, offset: this.#memory.place(type, payload) } };
    const segment = this.segments.get(segmentId);
    if (segment) segment.push(entry);
    else this.segments.set(segmentId, [entry]);
    return entry;
  }
}

/** The places of an append without an object for each. */
export function locationOf(locations: readonly EntryLocation[]): AppendLocation {
  return { segmentId: locations[0]!.segmentId, offsets: locations.map(({ offset }) => offset) };
}

type Entry = Pick<RecordedEntry, 'type' | 'payload'>;

/** A part of a dead log, whose entries come in these groups, all of which count. */
export function partOf(...groups: readonly (readonly Entry[])[]): PartOfLog {
  return {
    tenures: { isReplayed: () => true },
    async *parts() {
      for (const entries of groups) yield { bytes: Buffer.concat(entries.flatMap(withHeader)) };
    },
  };
}

/** An entry as a segment has it; its checksum does not matter here. */
export function withHeader({ type, payload }: Entry): Buffer[] {
  const header = Buffer.alloc(12);
  header[0] = type;
  header.writeUInt32LE(payload.length, 4);
  return [header, payload];
}

/** What another server finds when it takes over a log with these entries, in this order. */
export async function recover(entries: readonly RecordedEntry[]): Promise<Store> {
  const store = new Store(new Keyspace(), new NoLog());
  await new Imports(store).take(1, partOf(entries), new AbortController().signal);
  return store;
}

/** The keys of a store as plain values. */
export function contentOf({ keyspace }: Store): Map<string, ModelValue> {
  const found = new Map<string, ModelValue>();
  for (let slot = 0; slot < 16_384; slot += 1) {
    if (keyspace.sizeOf(slot) === 0) continue;
    for (const [key, { value }] of keyspace.entries(slot)) {
      if (typeof value === 'string') found.set(key, value);
      else found.set(key, new Map([...value!.entries()].map(([field, entry]) => [field, entry.value])));
    }
  }
  return found;
}

/** The slot of a key. */
export function slotOfKey(key: string): number {
  const bytes = Buffer.from(key, 'latin1');
  return slotOf(bytes, 0, bytes.length);
}

/** The keys and fields of an append's entries, as text. */
export function namesOf(entries: readonly RecordedEntry[]): string[] {
  return entries.map(({ type, payload }) => {
    const { key: bytes, version } =
      type === EntryType.OBJECT ? decodeObject(payload) : decodeTombstone(payload);
    const { key, field } = splitKey(bytes, version);
    const name = Buffer.from(key).toString('latin1');
    return field ? `${name}.${Buffer.from(field).toString('latin1')}` : name;
  });
}
