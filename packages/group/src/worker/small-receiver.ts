import type { ProtocolContext } from '@rdmc/dataplane';
import type { ConnectOptions, QueuePairAddress } from '@rdmc/verbs';
import type { GroupRecords, SmallAddress, SmallSetup } from '../records.js';
import { ACK_RECEIVES, ControlWord, MAX_BATCHES } from '../small/layout.js';
import { freeOf, RingReceiver } from '../small/ring-receiver.js';
import { CounterViolation } from '../small/ring-sender.js';
import { controlWords } from './control-words.js';
import { type SmallListener, SmallQueue } from './small-queue.js';
import type { SmallHost, SmallSide } from './small-side.js';

/** What a relay's children have made room for. */
export interface RelayedRing {
  /** Position up to which all of them have made room, modulo 2^32; at most the head of this member's ring. */
  readonly tail: number;
}

/** A receiver's side: tells the application what has arrived, and the member that writes what is free again. */
export class SmallReceiver implements SmallSide, SmallListener {
  readonly #control: Int32Array;
  readonly #receiver: RingReceiver;
  #queue: SmallQueue | undefined;
  /** Acks that have not completed. */
  #acks = 0;
  #isConnected = false;
  /** A batch has arrived since the last look at the neighbours. */
  #isBusy = false;
  #grownAt: number | undefined;

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    setup: SmallSetup,
    private readonly host: SmallHost,
    /** Of a relay. */
    private readonly relayed?: RelayedRing,
  ) {
    this.#control = controlWords(context.device, setup.control);
    this.#receiver = new RingReceiver(setup.units);
  }

  createQueue(link: number): QueuePairAddress {
    const depths = { requests: ACK_RECEIVES, notices: MAX_BATCHES };
    this.#queue = new SmallQueue(this.context, link, this, this.host, depths);
    return this.#queue.address;
  }

  async connect(_link: number, { queue }: SmallAddress, options: ConnectOptions): Promise<string> {
    const transport = await this.#queue!.connect(queue, options);
    this.#isConnected = true;
    this.host.advanceSmall();
    return transport;
  }

  advance(): void {
    Atomics.store(this.#control, ControlWord.KICKED, 0);
    const tail = Atomics.load(this.#control, ControlWord.TAIL) >>> 0;
    const free = this.relayed ? freeOf(this.#receiver.head, tail, this.relayed.tail) : tail;
    if (this.#isConnected && this.#acks < ACK_RECEIVES && this.#receiver.isDue(free)) {
      this.#acks += 1;
      this.#queue!.notice(this.#receiver.acknowledge(free));
    }
    if (this.#receiver.head === tail) return;
    if (Atomics.exchange(this.#control, ControlWord.WAITING, 0) === 1) this.host.tellApplication();
  }

  /** The application has a full ring; the member that writes gets its address. */
  grow(): void {
    this.#receiver.offer();
  }

  /** Position from which on entries are in the full ring; undefined: in the first one. */
  get grownAt(): number | undefined {
    return this.#grownAt;
  }

  /** Position behind the last entry that has arrived. */
  get head(): number {
    return this.#receiver.head;
  }

  get waitsForOwn(): boolean {
    return this.#acks === ACK_RECEIVES;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  cameFrom(): number {
    this.#isBusy = false;
    return this.#receiver.batches;
  }

  probe(): void {
    this.#queue!.probe();
  }

  noticed(link: number, immediate: number): void {
    try {
      this.#receiver.arrived(immediate);
    } catch (error) {
      if (!(error instanceof CounterViolation)) throw error;
      this.host.smallViolated(link, error.message);
      return;
    }
    this.host.trace?.arrived(link, this.#receiver.batches - 1);
    if (this.#receiver.isGrown && this.#grownAt === undefined) this.#grown();
    this.#isBusy = true;
    this.#queue!.receive();
    Atomics.store(this.#control, ControlWord.HEAD, this.#receiver.head | 0);
    this.host.advanceSmall();
  }

  /** The full ring begins here. */
  #grown(): void {
    this.#grownAt = this.#receiver.head;
    Atomics.store(this.#control, ControlWord.GROWN_AT, this.#grownAt | 0);
    Atomics.store(this.#control, ControlWord.GROWN, 1);
  }

  sent(): void {
    this.#acks -= 1;
    this.host.advanceSmall();
  }

  modifyToError(): void {
    this.#queue?.modifyToError();
  }

  async close(): Promise<void> {
    await this.#queue?.close();
  }
}
