import type { ProtocolContext } from '@rdmc/dataplane';
import {
  attachRegion,
  type ConnectOptions,
  type MemoryRegion,
  type QueuePairAddress,
  type RemoteKey,
  remoteKey,
} from '@rdmc/verbs';
import type { GroupRecords, RingAddress, SmallAddress, SmallSetup } from '../records.js';
import { ACK_RECEIVES, MAX_BATCHES, UNIT_BYTES } from '../small/layout.js';
import { CounterViolation, RingSender } from '../small/ring-sender.js';
import { Counter } from './counters.js';
import { type SmallListener, SmallQueue } from './small-queue.js';
import type { SmallHost, SmallLinkSide } from './small-side.js';

/** A batch is at most two WRITEs: in front of the end of the ring, and behind it. */
const WRITES_PER_BATCH = 2;
/** Words of a mark. */
const MARK_WORDS = 3;

/** A ring of the member at the other end. */
interface RemoteRing {
  readonly address: number;
  readonly key: RemoteKey;
}

const NO_RING: RemoteRing = { address: 0, key: remoteKey(0) };

function remoteRing({ address, rkey }: RingAddress): RemoteRing {
  return { address, key: remoteKey(rkey) };
}

/** Entries from a position on are in the full ring. */
export interface Growth {
  readonly at: number;
  /** Messages in front of it, and their bytes, modulo 2^32. */
  readonly messages: number;
  readonly bytes: number;
}

/** The link to one member. */
interface Link {
  /** Its index. */
  readonly at: number;
  readonly sender: RingSender;
  readonly queue: SmallQueue;
  first: RemoteRing;
  /** Undefined while it is not known. */
  full: RemoteRing | undefined;
  isConnected: boolean;
  /** Acks that have arrived. */
  acks: number;
  /** For each batch that has not completed: position, messages and bytes at its end, modulo 2^32. */
  readonly marks: Uint32Array;
  completed: number;
  /** Those of the last batch that has completed. */
  position: number;
  messages: number;
  bytes: number;
}

/** Writes what is new in the rings of this member into those of others. */
export class RingOutput implements SmallLinkSide, SmallListener {
  readonly #first: MemoryRegion;
  #full: MemoryRegion | undefined;
  readonly #links: Link[] = [];
  /** Everything is free up to here at all of them. */
  #tail = 0;
  /** All of them have everything up to here. */
  #written = 0;
  /** Messages that all of them have, modulo 2^32. */
  #counted = 0;

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    private readonly setup: SmallSetup,
    private readonly host: SmallHost,
    private readonly counters: Float64Array,
  ) {
    this.#first = attachRegion(context.device, setup.ring);
  }

  createQueue(link: number): QueuePairAddress {
    const depths = { requests: MAX_BATCHES * WRITES_PER_BATCH, notices: ACK_RECEIVES };
    const queue = new SmallQueue(this.context, link, this, this.host, depths);
    this.#links[link] = {
      at: link,
      queue,
      sender: new RingSender(this.setup.units),
      first: NO_RING,
      full: undefined,
      isConnected: false,
      acks: 0,
      marks: new Uint32Array(MARK_WORDS * MAX_BATCHES),
      ...{ completed: 0, position: 0, messages: 0, bytes: 0 },
    };
    return queue.address;
  }

  async connect(at: number, { queue, ring }: SmallAddress, options: ConnectOptions): Promise<string> {
    const link = this.#links[at]!;
    link.first = remoteRing(ring!);
    const transport = await link.queue.connect(queue, options);
    link.isConnected = true;
    this.host.advanceSmall();
    return transport;
  }

  /** Full rings: that of this member, and those at the other ends, by link. Before anybody writes to one. */
  grow(ring: number, addresses: readonly RingAddress[]): void {
    this.#full = attachRegion(this.context.device, ring);
    for (const [at, address] of addresses.entries()) this.#links[at]!.full = remoteRing(address);
  }

  /**
   * Writes what is in the rings up to `head`, where the counters allow it. `messages`, `bytes`: those up to there.
   * `growth` is given from the time on at which the full ring is in use.
   */
  write(head: number, messages: number, bytes: number, growth?: Growth): void {
    for (const link of this.#links) {
      if (link.isConnected) this.#writeTo(link, head, messages, bytes, growth);
    }
  }

  /** Position up to which all have made room, modulo 2^32. */
  get tail(): number {
    this.#tail = this.#least(this.#tail, ({ sender }) => sender.tail);
    return this.#tail;
  }

  /** Position up to which all have the entries, modulo 2^32. */
  get written(): number {
    return this.#written;
  }

  get waitsForOwn(): boolean {
    return this.#links.some(({ sender }) => sender.isBusy);
  }

  /** Whether not everybody has everything up to `head`. */
  isBusyUpTo(head: number): boolean {
    return this.#links.some(({ sender }) => sender.isBusy || sender.sent !== head);
  }

  cameFrom(link: number): number {
    return this.#links[link]!.acks;
  }

  probe(link: number): void {
    this.#links[link]!.queue.probe();
  }

  noticed(at: number, immediate: number): void {
    const link = this.#links[at]!;
    link.acks += 1;
    try {
      link.sender.acknowledged(immediate);
      link.queue.receive();
      this.host.advanceSmall();
    } catch (error) {
      if (!(error instanceof CounterViolation)) throw error;
      this.host.smallViolated(at, error.message);
    }
  }

  sent(at: number): void {
    const link = this.#links[at]!;
    const mark = (link.completed % MAX_BATCHES) * MARK_WORDS;
    this.host.trace?.completed(at, link.completed);
    link.sender.completed();
    link.completed += 1;
    const [position, messages, bytes] = link.marks.subarray(mark, mark + MARK_WORDS);
    this.counters[Counter.BYTES_SENT]! += (bytes! - link.bytes) >>> 0;
    Object.assign(link, { position, messages, bytes });
    this.#written = this.#least(this.#written, (each) => each.position);
    const counted = this.#least(this.#counted, (each) => each.messages);
    this.counters[Counter.MESSAGES_SENT]! += (counted - this.#counted) >>> 0;
    this.#counted = counted;
    this.host.advanceSmall();
  }

  modifyToError(): void {
    for (const { queue } of this.#created) queue.modifyToError();
  }

  async close(): Promise<void> {
    await Promise.all(this.#created.map(({ queue }) => queue.close()));
  }

  /** In a creation that has failed, the device may have refused the queue pair of a link in front of others. */
  get #created(): Link[] {
    return Object.values(this.#links);
  }

  #writeTo(link: Link, head: number, messages: number, bytes: number, growth: Growth | undefined): void {
    const { sender, queue } = link;
    const units = sender.next(head, growth?.at);
    if (units > 0) {
      const endsThere = growth !== undefined && !sender.isGrown && (sender.sent + units) >>> 0 === growth.at;
      this.#post(link, units);
      if (endsThere) this.#mark(link, growth.messages, growth.bytes);
      else this.#mark(link, messages, bytes);
    }
    if (growth === undefined || !sender.mayGrow(growth.at)) return;
    sender.grew();
    queue.notice(sender.sent);
    this.#mark(link, growth.messages, growth.bytes);
    this.#writeTo(link, head, messages, bytes, growth);
  }

  /** The counts at the end of the batch that was posted last. */
  #mark({ at, marks, sender }: Link, messages: number, bytes: number): void {
    const batch = (sender.batches - 1) >>> 0;
    const mark = (batch % MAX_BATCHES) * MARK_WORDS;
    this.host.trace?.written(at, batch);
    marks[mark] = sender.sent;
    marks[mark + 1] = messages;
    marks[mark + 2] = bytes;
  }

  #post(link: Link, units: number): void {
    const { sender, queue } = link;
    const { first, full } = this.setup.units;
    const ringUnits = sender.isGrown ? full : first;
    const { address: to, key } = sender.isGrown ? link.full! : link.first;
    const { address, lkey } = sender.isGrown ? this.#full! : this.#first;
    const start = (sender.sent % ringUnits) * UNIT_BYTES;
    const length = units * UNIT_BYTES;
    const front = Math.min(length, ringUnits * UNIT_BYTES - start);
    sender.posted(units);
    if (front < length) {
      queue.write(to + start, key);
      queue.memory(address + start, front, lkey);
      queue.notice(sender.sent, to, key);
      queue.memory(address, length - front, lkey);
    } else {
      queue.notice(sender.sent, to + start, key);
      queue.memory(address + start, front, lkey);
    }
  }

  /** The least of a count of all links, modulo 2^32: that with the least distance from `before`. */
  #least(before: number, countOf: (link: Link) => number): number {
    let least = Number.POSITIVE_INFINITY;
    for (const link of this.#links) least = Math.min(least, (countOf(link) - before) >>> 0);
    return this.#links.length === 0 ? before : (before + least) >>> 0;
  }
}
