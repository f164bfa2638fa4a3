import type { ProtocolContext } from '@rdmc/dataplane';
import {
  attachRegion,
  type ConnectOptions,
  type MemoryRegion,
  type QueuePairAddress,
  type RemoteKey,
  remoteKey,
} from '@rdmc/verbs';
import type { GroupRecords, SmallAddress, SmallSetup } from '../records.js';
import { ACK_RECEIVES, MAX_BATCHES, UNIT_BYTES } from '../small/layout.js';
import { CounterViolation, RingSender } from '../small/ring-sender.js';
import { Counter } from './counters.js';
import { type SmallListener, SmallQueue } from './small-queue.js';
import type { SmallHost, SmallLinkSide } from './small-side.js';

/** A batch is at most two WRITEs: in front of the end of the ring, and behind it. */
const WRITES_PER_BATCH = 2;
/** Words of a mark. */
const MARK_WORDS = 3;

/** The link to one member. */
interface Link {
  /** Its index. */
  readonly at: number;
  readonly sender: RingSender;
  readonly queue: SmallQueue;
  remoteAddress: number;
  remoteKey: RemoteKey;
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

/** Writes what is new in the ring of this member into the rings of others. */
export class RingOutput implements SmallLinkSide, SmallListener {
  readonly #ring: MemoryRegion;
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
    this.#ring = attachRegion(context.device, setup.ring);
  }

  createQueue(link: number): QueuePairAddress {
    const depths = { requests: MAX_BATCHES * WRITES_PER_BATCH, notices: ACK_RECEIVES };
    const queue = new SmallQueue(this.context, link, this, this.host, depths);
    this.#links[link] = {
      at: link,
      queue,
      sender: new RingSender(this.setup.units),
      remoteAddress: 0,
      remoteKey: remoteKey(0),
      isConnected: false,
      acks: 0,
      marks: new Uint32Array(MARK_WORDS * MAX_BATCHES),
      ...{ completed: 0, position: 0, messages: 0, bytes: 0 },
    };
    return queue.address;
  }

  async connect(at: number, { queue, ring }: SmallAddress, options: ConnectOptions): Promise<string> {
    const link = this.#links[at]!;
    link.remoteAddress = ring!.address;
    link.remoteKey = remoteKey(ring!.rkey);
    const transport = await link.queue.connect(queue, options);
    link.isConnected = true;
    this.host.advanceSmall();
    return transport;
  }

  /** Writes what is in the ring up to `head`, where the counters allow it. `messages`, `bytes`: those up to there. */
  write(head: number, messages: number, bytes: number): void {
    for (const link of this.#links) {
      const units = link.isConnected ? link.sender.next(head) : 0;
      if (units > 0) this.#post(link, units, messages, bytes);
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
    for (const { queue } of this.#links) queue.modifyToError();
  }

  async close(): Promise<void> {
    await Promise.all(this.#links.map(({ queue }) => queue.close()));
  }

  #post(link: Link, units: number, messages: number, bytes: number): void {
    const { sender, queue, remoteAddress, remoteKey: key } = link;
    const ringBytes = this.setup.units * UNIT_BYTES;
    const start = (sender.sent % this.setup.units) * UNIT_BYTES;
    const length = units * UNIT_BYTES;
    const first = Math.min(length, ringBytes - start);
    const { address, lkey } = this.#ring;
    const mark = (sender.batches % MAX_BATCHES) * MARK_WORDS;
    this.host.trace?.written(link.at, sender.batches);
    sender.posted(units);
    link.marks[mark] = sender.sent;
    link.marks[mark + 1] = messages;
    link.marks[mark + 2] = bytes;
    if (first < length) {
      queue.write(remoteAddress + start, key);
      queue.memory(address + start, first, lkey);
      queue.notice(sender.sent, remoteAddress, key);
      queue.memory(address, length - first, lkey);
    } else {
      queue.notice(sender.sent, remoteAddress + start, key);
      queue.memory(address + start, first, lkey);
    }
  }

  /** The least of a count of all links, modulo 2^32: that with the least distance from `before`. */
  #least(before: number, countOf: (link: Link) => number): number {
    let least = Number.POSITIVE_INFINITY;
    for (const link of this.#links) least = Math.min(least, (countOf(link) - before) >>> 0);
    return this.#links.length === 0 ? before : (before + least) >>> 0;
  }
}
