import { type Model, ModelMemory, type ModelQueue } from '@rdmc/testing';
import { freeOf, RECEIVER_WORDS, RingReceiver } from '../../src/small/ring-receiver.js';
import { RingSender, SENDER_WORDS } from '../../src/small/ring-sender.js';

/** The variant to check: the protocol, or one of its wrong variants. */
export interface TreeSetting {
  /** Messages of one unit. */
  readonly messages: number;
  /** Units of the rings, default 2; batches that are not acknowledged, default 2. */
  readonly units?: number;
  readonly maxBatches?: number;
  /** A relay acknowledges what its application has copied out, whatever its children have. */
  readonly forgetsChildren?: boolean;
  /** A relay acknowledges what its children have acknowledged, whatever its application has copied out. */
  readonly forgetsApplication?: boolean;
  /** A relay does not look at its own ack when its child has acknowledged something. */
  readonly sleepsThroughAcks?: boolean;
  /** A relay confirms that it has everything when its application has, whatever its child has. */
  readonly confirmsEarly?: boolean;
}

/** One WRITE with a notice: whether it was placed, and the positions. */
const BATCH_WORDS = 3;

/** One link: the ring at its end, both ends of the counters, and what is under way. */
class Link {
  readonly ring: Int32Array;
  readonly sender: RingSender;
  readonly receiver: RingReceiver;
  readonly batches: ModelQueue;
  readonly notices: ModelQueue;
  readonly acks: ModelQueue;
  /** Copied out by the application; it has notified the worker; written and completed. */
  readonly state: Int32Array;

  constructor(memory: ModelMemory, units: number, maxBatches: number, messages: number) {
    const unsigned = (words: number): Uint32Array => {
      const part = memory.take(words);
      return new Uint32Array(part.buffer, part.byteOffset, words);
    };
    this.ring = memory.take(units);
    this.sender = new RingSender(units, maxBatches, unsigned(SENDER_WORDS));
    this.receiver = new RingReceiver(units, maxBatches, unsigned(RECEIVER_WORDS));
    this.batches = memory.takeQueue(BATCH_WORDS * (messages + 1));
    this.notices = memory.takeQueue(messages + 1);
    this.acks = memory.takeQueue(2 * (messages + 1));
    this.state = memory.take(3);
  }
}

/** A root, a relay, and a child of the relay. The ring machines and the rule of the relay are those of the product. */
export class TreeModel implements Model {
  readonly #memory = new ModelMemory();
  readonly #units: number;
  readonly #rootRing: Int32Array;
  /** Messages in the root's ring; whether the relay has confirmed, and then has gone. */
  readonly #root: Int32Array;
  /** Into the relay, and into its child. */
  readonly #links: readonly [Link, Link];

  constructor(private readonly setting: TreeSetting) {
    const { messages, units = 2, maxBatches = 2 } = setting;
    this.#units = units;
    this.#rootRing = this.#memory.take(units);
    this.#root = this.#memory.take(2);
    const link = (): Link => new Link(this.#memory, units, maxBatches, messages);
    this.#links = [link(), link()];
  }

  current(): Int32Array {
    return this.#memory.current;
  }

  restore(state: Int32Array): void {
    this.#memory.restore(state);
  }

  done(): boolean {
    return this.#root[1] === 1 && this.#links[1].state[0] === this.setting.messages;
  }

  steps(): string[] {
    const steps: string[] = [];
    const add = (possible: boolean, step: string): void => {
      if (possible) steps.push(step);
    };
    add(this.#root[0]! < this.setting.messages && this.#hasRoom, 'send 0');
    this.#links.forEach((link, at) => {
      // A relay that has gone does nothing any more; what its device has written arrives.
      const writes = at === 0 || this.#root[1] === 0;
      add(writes && link.sender.next(this.#headAt(at)) > 0, `post ${at}`);
      add(writes && link.batches.length > 0 && link.batches.items[0] === 0, `place ${at}`);
      add(link.batches.length > 0 && link.batches.items[0] === 1, `arrive ${at}`);
      add(link.notices.length > 0, `handle ${at}`);
      add(link.state[1] === 1, `look ${at}`);
      add(writes && link.acks.length > 0, `acknowledge ${at}`);
      add(link.receiver.head !== link.state[0], `consume ${at}`);
    });
    add(this.#root[1] === 0 && this.#mayConfirm(), 'confirm 0');
    return steps;
  }

  take(step: string): void {
    const [name, argument = '0'] = step.split(' ');
    this.#actions[name!]!(Number(argument));
  }

  readonly #actions: Record<string, (at: number) => void> = {
    send: () => this.#send(),
    post: (at) => this.#post(at),
    place: (at) => this.#place(at),
    arrive: (at) => this.#arrive(this.#links[at]!),
    handle: (at) => this.#handle(at),
    look: (at) => {
      this.#links[at]!.state[1] = 0;
      this.#acknowledge(at);
    },
    acknowledge: (at) => {
      const { sender, acks } = this.#links[at]!;
      sender.acknowledged(acks.shift() >>> 0);
      if (at === 1 && !this.setting.sleepsThroughAcks) this.#acknowledge(0);
    },
    consume: (at) => this.#consume(this.#links[at]!),
    confirm: () => {
      this.#root[1] = 1;
    },
  };

  get #hasRoom(): boolean {
    return this.#root[0]! - this.#links[0].sender.tail < this.#units;
  }

  #mayConfirm(): boolean {
    const { messages, confirmsEarly } = this.setting;
    const [own, child] = this.#links;
    return own.state[0] === messages && (confirmsEarly === true || child.state[2] === messages);
  }

  /** Position behind what may be written on that link. */
  #headAt(at: number): number {
    return at === 0 ? this.#root[0]! >>> 0 : this.#links[0].receiver.head;
  }

  #send(): void {
    this.#rootRing[this.#root[0]! % this.#units] = this.#root[0]!;
    this.#root[0]! += 1;
  }

  #post(at: number): void {
    const { sender, batches } = this.#links[at]!;
    const from = sender.sent;
    const units = sender.next(this.#headAt(at));
    sender.posted(units);
    batches.push(0, from, from + units);
  }

  /** The device reads the ring in front of the link when it writes. */
  #place(at: number): void {
    const { batches, ring } = this.#links[at]!;
    const source = at === 0 ? this.#rootRing : this.#links[0].ring;
    const [, from, to] = batches.items.subarray(0, BATCH_WORDS);
    for (let unit = from!; unit < to!; unit += 1) ring[unit % this.#units] = source[unit % this.#units]!;
    batches.items[0] = 1;
  }

  #arrive({ batches, notices, sender, state }: Link): void {
    batches.shift();
    batches.shift();
    const to = batches.shift();
    notices.push(to);
    sender.completed();
    state[2] = to;
  }

  #handle(at: number): void {
    const { receiver, notices } = this.#links[at]!;
    receiver.arrived(notices.shift() >>> 0);
    this.#acknowledge(at);
  }

  #acknowledge(at: number): void {
    const { receiver, acks } = this.#links[at]!;
    const free = this.#freeAt(at);
    if (receiver.isDue(free)) acks.push(receiver.acknowledge(free) | 0);
  }

  #freeAt(at: number): number {
    const { receiver, state } = this.#links[at]!;
    const copied = state[0]! >>> 0;
    if (at === 1 || this.setting.forgetsChildren) return copied;
    const { tail } = this.#links[1].sender;
    return this.setting.forgetsApplication ? tail : freeOf(receiver.head, copied, tail);
  }

  #consume({ ring, state }: Link): void {
    const next = state[0]!;
    const value = ring[next % this.#units]!;
    if (value !== next) throw new Error(`message ${value} was delivered in place of ${next}`);
    state[0] = next + 1;
    state[1] = 1;
  }
}
