import { type Model, ModelMemory, type ModelQueue } from '@rdmc/testing';
import { OrderMerge, Path } from '../../src/small/order-merge.js';
import { RECEIVER_WORDS, RingReceiver } from '../../src/small/ring-receiver.js';
import { RingSender, SENDER_WORDS } from '../../src/small/ring-sender.js';

/** The variant to check: the protocol, or one of its wrong variants. */
export interface SmallSetting {
  /** The messages in order: `s` is a small one of one unit, `L` one that is sent as blocks. */
  readonly messages: string;
  /** Units of the ring, default 4; batches that are not acknowledged, default 2. */
  readonly units?: number;
  readonly maxBatches?: number;
  /** Messages of blocks for which the receiver has memory at a time, default 1. */
  readonly memory?: number;
  /** A notice may be seen in front of what was written before it. */
  readonly noticeFirst?: boolean;
  /** An entry counts as free when it has arrived, before it was copied out. */
  readonly freesAtArrival?: boolean;
  /** The root does not count batches. */
  readonly countsNoBatches?: boolean;
  /** No ack for units that were copied out, only for batches. */
  readonly acksBatchesOnly?: boolean;
  /** A message of blocks takes a unit of the ring before it is sent; later small messages may be in the ring already. */
  readonly blocksNeedUnit?: boolean;
  /** Messages leave in the order in which they are complete. */
  readonly deliversAtArrival?: boolean;
  /** Nothing is copied out while any message waits for an earlier one. */
  readonly waitsForBlocks?: boolean;
  /** The application does not look once more between its request for an event and its sleep. */
  readonly sleepsAtOnce?: boolean;
}

const Awake = { YES: 0, ASKS: 1, NO: 2 } as const;
const MARK = 100;

/**
 * A root, one receiver, and both paths: ring and counters of small messages, and messages of blocks as a whole. The ring
 * machines and the merge are those of the product.
 */
export class SmallModel implements Model {
  readonly #memory = new ModelMemory();
  readonly #units: number;
  /** sent, head of the root's ring, blocks under way, memory free, the message of blocks that waits for a unit + 1 */
  readonly #root = this.#memory.take(5);
  readonly #rootRing: Int32Array;
  readonly #ring: Int32Array;
  readonly #sender: RingSender;
  readonly #receiver: RingReceiver;
  /** receives posted, tail, kicked, waiting, application's state, next number, the worker has not told yet */
  readonly #state = this.#memory.take(7);
  /** Queues: batches {placed, from, to}, notices in the completion queue, acks, blocks under way, and complete messages. */
  readonly #batches: ModelQueue;
  readonly #notices: ModelQueue;
  readonly #acks: ModelQueue;
  readonly #blocks: ModelQueue;
  readonly #small: ModelQueue;
  readonly #complete: ModelQueue;

  constructor(private readonly setting: SmallSetting) {
    const { messages, units = 4, maxBatches = 2, memory = 1 } = setting;
    this.#units = units;
    this.#rootRing = this.#memory.take(units);
    this.#ring = this.#memory.take(units);
    const limit = setting.countsNoBatches ? Number.POSITIVE_INFINITY : maxBatches;
    const rings = { first: units, full: units };
    this.#sender = new RingSender(rings, limit, this.#unsigned(SENDER_WORDS));
    this.#receiver = new RingReceiver(rings, maxBatches, this.#unsigned(RECEIVER_WORDS));
    const most = messages.length + 1;
    this.#batches = this.#memory.takeQueue(3 * most);
    this.#notices = this.#memory.takeQueue(most);
    this.#acks = this.#memory.takeQueue(2 * most);
    this.#blocks = this.#memory.takeQueue(most);
    this.#small = this.#memory.takeQueue(most);
    this.#complete = this.#memory.takeQueue(most);
    this.#root[3] = memory;
    this.#state[0] = maxBatches;
  }

  current(): Int32Array {
    return this.#memory.current;
  }

  restore(state: Int32Array): void {
    this.#memory.restore(state);
  }

  done(): boolean {
    return this.#state[5] === this.setting.messages.length;
  }

  steps(): string[] {
    const steps: string[] = [];
    const add = (possible: boolean, step: string): void => {
      if (possible) steps.push(step);
    };
    add(this.#maySend(), 'send');
    add(this.#root[4] !== 0 && this.#hasRoom, 'mark');
    add(this.#sender.next(this.#root[1]! >>> 0) > 0, 'post');
    const placed = this.#batches.items[0] === 1;
    add(this.#batches.length > 0 && (placed || this.setting.noticeFirst === true), 'arrive');
    for (let i = 0; i < this.#batches.length; i += 3) add(this.#batches.items[i] === 0, `place ${i}`);
    add(this.#notices.length > 0, 'handle');
    add(this.#state[6] === 1, 'tell');
    add(this.#state[2] === 1, 'look');
    add(this.#acks.length > 0, 'acknowledge');
    add(this.#blocks.length > 0 && this.#root[3]! > 0, 'transfer');
    add(this.#state[4] !== Awake.NO, 'consume');
    return steps;
  }

  take(step: string): void {
    const [name, argument = '0'] = step.split(' ');
    this.#actions[name!]!(Number(argument));
  }

  readonly #actions: Record<string, (argument: number) => void> = {
    send: () => this.#send(),
    mark: () => this.#mark(),
    post: () => this.#post(),
    place: (i) => this.#place(i),
    arrive: () => this.#arrive(),
    handle: () => this.#handle(),
    tell: () => this.#tell(),
    look: () => {
      this.#state[2] = 0;
      this.#acknowledge();
    },
    acknowledge: () => this.#sender.acknowledged(this.#acks.shift() >>> 0),
    transfer: () => this.#transfer(),
    consume: () => this.#consume(),
  };

  get #tail(): number {
    return this.#state[1]!;
  }

  get #hasRoom(): boolean {
    return this.#root[1]! - this.#sender.tail < this.#units;
  }

  #maySend(): boolean {
    const kind = this.setting.messages[this.#root[0]!];
    if (kind === 's') return this.#hasRoom;
    return kind === 'L' && this.#root[2] === 0 && this.#root[4] === 0;
  }

  #send(): void {
    const number = this.#root[0]!;
    this.#root[0] = number + 1;
    if (this.setting.messages[number] === 's') this.#write(number);
    else if (this.setting.blocksNeedUnit) this.#root[4] = number + 1;
    else this.#start(number);
  }

  #mark(): void {
    const number = this.#root[4]! - 1;
    this.#root[4] = 0;
    this.#write(MARK + number);
    this.#start(number);
  }

  #start(number: number): void {
    this.#root[2]! += 1;
    this.#blocks.push(number);
  }

  #write(value: number): void {
    this.#rootRing[this.#root[1]! % this.#units] = value;
    this.#root[1]! += 1;
  }

  #post(): void {
    const units = this.#sender.next(this.#root[1]! >>> 0);
    const from = this.#sender.sent;
    this.#sender.posted(units);
    this.#batches.push(0, from, from + units);
  }

  /** The device reads the root's ring when it writes. */
  #place(i: number): void {
    const { items } = this.#batches;
    const [, from, to] = items.subarray(i, i + 3);
    for (let unit = from!; unit < to!; unit += 1) {
      this.#ring[unit % this.#units] = this.#rootRing[unit % this.#units]!;
    }
    items[i] = 1;
  }

  #arrive(): void {
    if (this.#state[0] === 0) throw new Error('a notice found no receive');
    this.#state[0]! -= 1;
    this.#batches.shift();
    this.#batches.shift();
    this.#notices.push(this.#batches.shift());
    this.#sender.completed();
  }

  #handle(): void {
    this.#receiver.arrived(this.#notices.shift());
    this.#state[0]! += 1;
    this.#state[6] = 1;
    this.#acknowledge();
  }

  /** The end of the worker's turn: an event, if the application has asked for one. */
  #tell(): void {
    this.#state[6] = 0;
    if (this.#state[3] === 0 || this.#receiver.head === this.#tail) return;
    this.#state[3] = 0;
    this.#state[4] = Awake.YES;
  }

  #acknowledge(): void {
    const tail = this.setting.freesAtArrival ? this.#receiver.head : this.#tail;
    if (!this.#receiver.isDue(tail >>> 0)) return;
    this.#acks.push(this.#receiver.acknowledge(tail >>> 0) | 0);
  }

  #transfer(): void {
    this.#root[3]! -= 1;
    this.#root[2]! -= 1;
    this.#complete.push(this.#blocks.shift());
    this.#state[4] = Awake.YES;
  }

  /** The application: takes a message if there is one, copies out, or goes to sleep. */
  #consume(): void {
    if (this.#state[4] === Awake.ASKS) this.#sleep();
    else if (!this.#deliver() && !this.#copyOut()) this.#state[4] = Awake.ASKS;
  }

  #sleep(): void {
    this.#state[3] = 1;
    const isEmpty = this.#receiver.head === this.#tail || !this.#wantsMore();
    this.#state[4] = isEmpty || this.setting.sleepsAtOnce ? Awake.NO : Awake.YES;
  }

  #wantsMore(): boolean {
    return this.#small.length === 0 && (!this.setting.waitsForBlocks || this.#complete.length === 0);
  }

  #copyOut(): boolean {
    if (this.#receiver.head === this.#tail || !this.#wantsMore()) return false;
    while (this.#tail !== this.#receiver.head) {
      const value = this.#ring[this.#tail % this.#units]!;
      if (value < MARK) this.#small.push(value);
      // The unit of a message of blocks is free when that message is complete.
      else if (!this.#isComplete(value - MARK)) break;
      this.#state[1]! += 1;
      if (!this.setting.acksBatchesOnly) this.#state[2] = 1;
    }
    return this.#small.length > 0;
  }

  #isComplete(number: number): boolean {
    return this.#state[5]! > number || this.#complete.includes(number);
  }

  #deliver(): boolean {
    const next = this.#state[5]!;
    if (this.setting.deliversAtArrival) {
      const from = this.#complete.length > 0 ? this.#complete : this.#small;
      if (from.length === 0) return false;
      const [first] = from.items;
      if (first !== next) throw new Error(`message ${first} was delivered in place of ${next}`);
    }
    const merge = new OrderMerge(next);
    const numberAs = (): void => {};
    for (const number of this.#small) merge.push(Path.SMALL, { number, numberAs });
    for (const number of this.#complete) merge.push(Path.BLOCKS, { number, numberAs });
    const message = merge.take();
    if (!message) return false;
    if (message.number !== next)
      throw new Error(`message ${message.number} was delivered in place of ${next}`);
    this.#state[5] = next + 1;
    if (this.setting.messages[next] === 's') this.#small.shift();
    else {
      this.#complete.shift();
      this.#root[3]! += 1;
    }
    return true;
  }

  #unsigned(words: number): Uint32Array {
    const part = this.#memory.take(words);
    return new Uint32Array(part.buffer, part.byteOffset, words);
  }
}
