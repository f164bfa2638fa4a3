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
import { ACK_RECEIVES, ControlWord, MAX_BATCHES, UNIT_BYTES } from '../small/layout.js';
import { CounterViolation, RingSender } from '../small/ring-sender.js';
import { controlWords } from './control-words.js';
import { Counter } from './counters.js';
import { type SmallListener, SmallQueue } from './small-queue.js';
import type { SmallHost, SmallSide } from './small-side.js';

/** A batch is at most two WRITEs: in front of the end of the ring, and behind it. */
const WRITES_PER_BATCH = 2;

/** The root's link to one receiver. */
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
  /** For each batch that has not completed: messages and bytes up to its end, modulo 2^32. */
  readonly marks: Uint32Array;
  completed: number;
  messages: number;
  bytes: number;
}

/** The root's side: writes what is new in its ring into the rings of all receivers. */
export class SmallRoot implements SmallSide, SmallListener {
  readonly #control: Int32Array;
  readonly #ring: MemoryRegion;
  readonly #links: Link[] = [];
  /** Everything is free up to here at all receivers. */
  #tail = 0;
  #head = 0;
  /** Messages that every receiver has, modulo 2^32. */
  #counted = 0;

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    private readonly setup: SmallSetup,
    private readonly host: SmallHost,
    private readonly counters: Float64Array,
    /** The control words of this member as a receiver of its own messages, if it is one. */
    private readonly self?: Int32Array,
  ) {
    this.#control = controlWords(context.device, setup.control);
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
      marks: new Uint32Array(2 * MAX_BATCHES),
      completed: 0,
      messages: 0,
      bytes: 0,
    };
    return queue.address;
  }

  async connect(at: number, { queue, ring }: SmallAddress, options: ConnectOptions): Promise<string> {
    const link = this.#links[at]!;
    link.remoteAddress = ring!.address;
    link.remoteKey = remoteKey(ring!.rkey);
    const transport = await link.queue.connect(queue, options);
    link.isConnected = true;
    return transport;
  }

  advance(): void {
    Atomics.store(this.#control, ControlWord.KICKED, 0);
    if (this.self) Atomics.store(this.self, ControlWord.KICKED, 0);
    // In front of the head: then these count at most the messages that it covers.
    const messages = Atomics.load(this.#control, ControlWord.MESSAGES);
    const bytes = Atomics.load(this.#control, ControlWord.BYTES);
    this.#head = Atomics.load(this.#control, ControlWord.HEAD) >>> 0;
    for (const link of this.#links) {
      const units = link.isConnected ? link.sender.next(this.#head) : 0;
      if (units > 0) this.#post(link, units, messages, bytes);
    }
    this.#free();
  }

  get waitsForOwn(): boolean {
    return this.#links.some(({ sender }) => sender.isBusy);
  }

  get isBusy(): boolean {
    return this.#links.some(({ sender }) => sender.isBusy || sender.sent !== this.#head);
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
    const mark = (link.completed % MAX_BATCHES) * 2;
    this.host.trace?.completed(at, link.completed);
    link.sender.completed();
    link.completed += 1;
    this.counters[Counter.BYTES_SENT]! += (link.marks[mark + 1]! - link.bytes) >>> 0;
    link.messages = link.marks[mark]!;
    link.bytes = link.marks[mark + 1]!;
    this.#count();
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
    const mark = (sender.batches % MAX_BATCHES) * 2;
    link.marks[mark] = messages;
    link.marks[mark + 1] = bytes;
    this.host.trace?.written(link.at, sender.batches);
    sender.posted(units);
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

  /** Publishes the room that all receivers have made. */
  #free(): void {
    let least = this.setup.units;
    for (const { sender } of this.#links) least = Math.min(least, (sender.tail - this.#tail) >>> 0);
    if (this.self) least = Math.min(least, (Atomics.load(this.self, ControlWord.TAIL) - this.#tail) >>> 0);
    if (least === 0 || this.#links.length === 0) return;
    this.#tail = (this.#tail + least) >>> 0;
    Atomics.store(this.#control, ControlWord.TAIL, this.#tail | 0);
    if (Atomics.exchange(this.#control, ControlWord.WAITING, 0) === 1) this.host.tellApplication();
  }

  /** Counts the messages that every receiver has. */
  #count(): void {
    let least = Number.POSITIVE_INFINITY;
    for (const { messages } of this.#links) least = Math.min(least, (messages - this.#counted) >>> 0);
    this.#counted = (this.#counted + least) >>> 0;
    this.counters[Counter.MESSAGES_SENT]! += least;
  }
}
