import { type Model, ModelMemory, type ModelQueue } from '@rdmc/testing';
import type { RingUnits } from '../../src/small/layout.js';
import { freeOf, RECEIVER_WORDS, RingReceiver } from '../../src/small/ring-receiver.js';
import { RingSender, SENDER_WORDS } from '../../src/small/ring-sender.js';

/** The variant to check: the protocol, or one of its wrong variants. */
export interface TreeSetting {
  /** Messages of one unit. */
  readonly messages: number;
  /** Units of the rings, default 2; batches that are not acknowledged, default 2. */
  readonly units?: number;
  readonly maxBatches?: number;
  /** Units of the full ring, which all have offered; undefined: the first ring stays. */
  readonly full?: number;
  /** A relay writes to the full ring of its child, and does not tell it. */
  readonly growsSilently?: boolean;
  /** A batch may go across the position at which the full ring begins. */
  readonly postsAcross?: boolean;
  /** A receiver reads from the full ring as soon as it knows of it. */
  readonly readsFullAtOnce?: boolean;
  /** A relay acknowledges what its application has copied out, whatever its children have. */
  readonly forgetsChildren?: boolean;
  /** A relay acknowledges what its children have acknowledged, whatever its application has copied out. */
  readonly forgetsApplication?: boolean;
  /** A relay does not look at its own ack when its child has acknowledged something. */
  readonly sleepsThroughAcks?: boolean;
  /** A relay confirms that it has everything when its application has, whatever its child has. */
  readonly confirmsEarly?: boolean;
}

/** One WRITE with a notice: whether it was placed, the positions, and whether they are in the full ring. */
const BATCH_WORDS = 4;
/** Nothing is in the full ring. */
const NEVER = -1;

/** The two rings of a member. */
class Rings {
  readonly #first: Int32Array;
  readonly #full: Int32Array;

  constructor(memory: ModelMemory, units: RingUnits) {
    this.#first = memory.take(units.first);
    this.#full = memory.take(units.full);
  }

  at(position: number, isFull: boolean): number {
    const ring = isFull ? this.#full : this.#first;
    return ring[position % ring.length]!;
  }

  set(position: number, isFull: boolean, value: number): void {
    const ring = isFull ? this.#full : this.#first;
    ring[position % ring.length] = value;
  }
}

/** One link: the ring at its end, both ends of the counters, and what is under way. */
class Link {
  readonly ring: Rings;
  readonly sender: RingSender;
  readonly receiver: RingReceiver;
  readonly batches: ModelQueue;
  readonly notices: ModelQueue;
  readonly acks: ModelQueue;
  /** Copied out by the application; it has notified the worker; written and completed; begin of the full ring. */
  readonly state: Int32Array;

  constructor(memory: ModelMemory, units: RingUnits, maxBatches: number, messages: number) {
    const unsigned = (words: number): Uint32Array => {
      const part = memory.take(words);
      return new Uint32Array(part.buffer, part.byteOffset, words);
    };
    this.ring = new Rings(memory, units);
    this.sender = new RingSender(units, maxBatches, unsigned(SENDER_WORDS));
    this.receiver = new RingReceiver(units, maxBatches, unsigned(RECEIVER_WORDS));
    this.batches = memory.takeQueue(BATCH_WORDS * (messages + 2));
    this.notices = memory.takeQueue(messages + 2);
    this.acks = memory.takeQueue(2 * (messages + 2));
    this.state = memory.take(4);
    this.state[3] = NEVER;
  }
}

/** A root, a relay, and a child of the relay. The ring machines and the rule of the relay are those of the product. */
export class TreeModel implements Model {
  readonly #memory = new ModelMemory();
  readonly #units: RingUnits;
  readonly #rootRing: Rings;
  /** Messages in the root's rings; whether the relay has confirmed, and then has gone; begin of the full ring. */
  readonly #root: Int32Array;
  /** Into the relay, and into its child. */
  readonly #links: readonly [Link, Link];

  constructor(private readonly setting: TreeSetting) {
    const { messages, units = 2, maxBatches = 2 } = setting;
    this.#units = { first: units, full: setting.full ?? units };
    this.#rootRing = new Rings(this.#memory, this.#units);
    this.#root = this.#memory.take(3);
    this.#root[2] = NEVER;
    const link = (): Link => new Link(this.#memory, this.#units, maxBatches, messages);
    this.#links = [link(), link()];
    if (setting.full) for (const { receiver } of this.#links) receiver.offer();
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
    add(this.setting.full !== undefined && this.#root[2] === NEVER, 'grow 0');
    this.#links.forEach((link, at) => {
      // A relay that has gone does nothing any more; what its device has written arrives.
      const writes = at === 0 || this.#root[1] === 0;
      add(writes && this.#nextOn(at) > 0, `post ${at}`);
      const grownAt = this.#grownAt(at);
      add(writes && grownAt !== undefined && link.sender.mayGrow(grownAt), `mark ${at}`);
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
    grow: () => {
      this.#root[2] = this.#root[0]!;
    },
    mark: (at) => this.#mark(at),
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
    const { first, full } = this.#units;
    return this.#root[0]! - this.#links[0].sender.tail < (this.#root[2] === NEVER ? first : full);
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

  /** From where on the entries that are to be written on that link are in the full ring. */
  #grownAt(at: number): number | undefined {
    const position = at === 0 ? this.#root[2]! : this.#links[0].state[3]!;
    return position === NEVER ? undefined : position;
  }

  #nextOn(at: number): number {
    const grownAt = this.setting.postsAcross ? undefined : this.#grownAt(at);
    return this.#links[at]!.sender.next(this.#headAt(at), grownAt);
  }

  #send(): void {
    this.#rootRing.set(this.#root[0]!, this.#root[2] !== NEVER, this.#root[0]!);
    this.#root[0]! += 1;
  }

  #post(at: number): void {
    const { sender, batches } = this.#links[at]!;
    const from = sender.sent;
    const units = this.#nextOn(at);
    const isFull = sender.isGrown ? 1 : 0;
    sender.posted(units);
    batches.push(0, from, from + units, isFull);
  }

  /** The empty batch. */
  #mark(at: number): void {
    const { sender, batches } = this.#links[at]!;
    sender.grew();
    if (at === 1 && this.setting.growsSilently) sender.completed();
    else batches.push(0, sender.sent, sender.sent, 1);
  }

  /** The device reads the ring in front of the link when it writes. */
  #place(at: number): void {
    const { batches, ring } = this.#links[at]!;
    const source = at === 0 ? this.#rootRing : this.#links[0].ring;
    const [, from, to, isFull] = batches.items.subarray(0, BATCH_WORDS);
    for (let unit = from!; unit < to!; unit += 1) ring.set(unit, isFull === 1, source.at(unit, isFull === 1));
    batches.items[0] = 1;
  }

  #arrive({ batches, notices, sender, state }: Link): void {
    batches.shift();
    batches.shift();
    const to = batches.shift();
    batches.shift();
    notices.push(to);
    sender.completed();
    state[2] = to;
  }

  #handle(at: number): void {
    const { receiver, notices, state } = this.#links[at]!;
    receiver.arrived(notices.shift() >>> 0);
    if (receiver.isGrown && state[3] === NEVER) state[3] = receiver.head;
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
    const [, , , grownAt] = state;
    const isFull = grownAt !== NEVER && (next >= grownAt! || this.setting.readsFullAtOnce === true);
    const value = ring.at(next, isFull);
    if (value !== next) throw new Error(`message ${value} was delivered in place of ${next}`);
    state[0] = next + 1;
    state[1] = 1;
  }
}
