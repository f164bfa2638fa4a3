import { type Model, ModelMemory } from '@rdmc/testing';
import { payloadOffset } from '../../src/layout/footer.js';
import { bitOf } from '../../src/machine/bits.js';
import { refreshLimit } from '../../src/machine/refresh-rule.js';
import {
  type AnnounceAt,
  type FreeSlots,
  RequesterMachine,
  type RequesterMemory,
  requesterStateWords,
} from '../../src/machine/requester-machine.js';
import {
  type Deliveries,
  ResponderMachine,
  type ResponderMemory,
  responderStateWords,
} from '../../src/machine/responder-machine.js';

/** The variant to check: the protocol, or one of its wrong variants. */
export interface Setting {
  readonly slots: number;
  readonly messages: number;
  readonly mode: 'pull' | 'push' | 'per-request';
  /** How often the connection may break. */
  readonly losses: number;
  /** The device places a later WRITE after an earlier one of its queue pair (default true). */
  readonly ordersWrites?: boolean;
  readonly announceAt?: AnnounceAt;
  /** A push carries the words at the time when it is placed, not when it was posted. */
  readonly pushesLiveWords?: boolean;
  /** Outstanding pushes if they follow completions (default 1). */
  readonly pushes?: number;
  /** The end flag of a push is accepted although its total may not be placed yet. */
  readonly tornEnd?: boolean;
  /** Releases between two connections are not reported in the second (per-request). */
  readonly forgetsLateReleases?: boolean;
  /** Outstanding READs per direction (default 1). */
  readonly reads?: number;
  readonly releases?: number;
  /** The refresh rule; default `refreshLimit(slots, 0.5)`. */
  readonly refreshes?: (free: number) => boolean;
  /** The requester continues after a loss without the responder's barrier and account. */
  readonly carelessReconnect?: boolean;
  readonly requester?: new (memory: RequesterMemory, free: FreeSlots, state: Int32Array) => RequesterMachine;
  readonly responder?: new (
    memory: ResponderMemory,
    deliveries: Deliveries,
    state: Int32Array,
  ) => ResponderMachine;
}

const SLOT_BYTES = 8;
const STRIDE = 32;
const TORN = -1;
/** An operation on the requester's queue pair: kind, slot or snapshot, message, generation, state. */
const Op = { KIND: 0, A: 1, MESSAGE: 2, GENERATION: 3, STATE: 4, COUNT: 5 } as const;
const OP_WORDS = 6;
const Kind = { WRITE: 1, PUSH: 2, END: 3 } as const;
const OpState = { QUEUED: 0, PLACING: 1, PLACED: 2, PLACING_END: 3 } as const;
/** A PUSH with this instead of a message carries the end. */
const WITH_END = 1;
const NO_MESSAGE = -1;
/** In the queue of arrivals: the end. */
const END = -1;
/** A READ: its state, the bits it saw, and whether it saw the end flag. Words of one READ are of different times. */
const READ_WORDS = 3;
const ReadState = { NONE: 0, ISSUED: 1, SAMPLED_BITS: 2, SAMPLED_END: 3, SAMPLED: 4 } as const;
const Phase = { UP: 0, BROKEN: 1, AGREED: 2 } as const;
const Work = { NONE: 0, DELIVERED: 1, WORKING: 2, DONE: 3 } as const;

/** One requester and one responder over a queue pair with every legal behaviour. One bitmap word; a message is one slot. */
export class ChannelModel implements Model, FreeSlots, Deliveries {
  readonly #memory = new ModelMemory();
  readonly #requester: RequesterMachine;
  readonly #responder: ResponderMachine;
  readonly #announced = this.#memory.take(1);
  readonly #released = this.#memory.take(1);
  readonly #landingP = this.#memory.take(1);
  readonly #landingR = this.#memory.take(1);
  readonly #pool: Int32Array;
  /** 1: the application may fill the slot. */
  readonly #free: Int32Array;
  readonly #sent = this.#memory.take(1);
  readonly #ops: Int32Array;
  readonly #opCount = this.#memory.take(1);
  readonly #readsP: Int32Array;
  readonly #readsR: Int32Array;
  readonly #work: Int32Array;
  readonly #workMessage: Int32Array;
  readonly #releases: Int32Array;
  readonly #consumed = this.#memory.take(1);
  readonly #phase = this.#memory.take(1);
  readonly #losses = this.#memory.take(1);
  readonly #generation = this.#memory.take(1);
  readonly #account = this.#memory.take(3);
  /** The requester's end flag, and whether the responder has everything and knows it. */
  readonly #ended = this.#memory.take(1);
  readonly #finished = this.#memory.take(1);
  /** The end as it was pushed: it is placed before or after the bits of its board. */
  readonly #landingEnd = this.#memory.take(1);
  /** Toggled bits that were not pushed yet (pushes after completion). */
  readonly #unpushed = this.#memory.take(1);
  /** Per-request: immediates that have arrived, and confirmations on their way; each a count and a queue of slots. */
  readonly #arrivals: Int32Array;
  readonly #confirmations: Int32Array;
  /** Releases between two connections. */
  readonly #late: Int32Array;
  /** The responder has left, and the requester knows that it has everything. */
  readonly #dismissed = this.#memory.take(1);
  /** P of the confirmed slots. */
  readonly #confirmed = this.#memory.take(1);

  readonly #actions: Readonly<Record<string, (index: number) => void>> = {
    post: () => this.#post(),
    place: (index) => this.#place(index),
    complete: () => this.#complete(),
    placeEnd: (index) => this.#placeEnd(index),
    end: () => this.#end(),
    arrive: () => this.#arrive(),
    confirm: () => this.#requester.recycled(shift(this.#confirmations)),
    readP: () => this.#issue(this.#readsP, () => this.#requester.beginRead()),
    readR: () => this.#issue(this.#readsR, () => this.#responder.beginRead()),
    sampleP: (index) => this.#sample(this.#readsP, index, this.#released[0]!, ReadState.SAMPLED),
    sampleR: (index) => this.#sample(this.#readsR, index, this.#announced[0]!, ReadState.SAMPLED_BITS),
    sampleEndR: (index) => this.#sampleEnd(index),
    returnP: (index) => this.#returnP(index),
    returnR: (index) => this.#returnR(index),
    look: () => this.#look(),
    begin: (index) => this.#begin(index),
    finish: (index) => this.#finish(index),
    release: (index) => this.#release(index),
    lose: () => this.#lose(),
    agree: () => this.#agree(),
    resume: () => this.#resume(),
    resumeCarelessly: () => this.#resumeCarelessly(),
  };

  constructor(private readonly setting: Setting) {
    const { slots, reads = 1, mode } = setting;
    const take = (words: number): Int32Array => this.#memory.take(words);
    this.#pool = take((slots * STRIDE) / 4);
    this.#free = take(slots).fill(1);
    this.#ops = take(OP_WORDS * 4 * (slots + 1));
    this.#readsP = take(READ_WORDS * reads);
    this.#readsR = take(READ_WORDS * reads);
    this.#work = take(slots);
    this.#workMessage = take(slots);
    this.#releases = take(slots);
    this.#arrivals = take(slots + 2);
    this.#confirmations = take(2 * slots + 2);
    this.#late = take(slots + 1);
    const announceAt = setting.announceAt ?? (mode === 'pull' ? 'completion' : 'posting');
    const Requester = setting.requester ?? RequesterMachine;
    const Responder = setting.responder ?? ResponderMachine;
    this.#requester = new Requester(
      { slots, announced: this.#announced, landing: this.#landingP, announceAt },
      this,
      take(requesterStateWords(slots)),
    );
    this.#responder = new Responder(
      {
        slots,
        stride: STRIDE,
        slotBytes: SLOT_BYTES,
        pool: this.#pool,
        landing: this.#landingR,
        released: this.#released,
      },
      this,
      take(responderStateWords(slots)),
    );
  }

  current(): Int32Array {
    return this.#memory.current;
  }

  restore(state: Int32Array): void {
    this.#memory.restore(state);
  }

  done(): boolean {
    const { messages } = this.setting;
    const all = this.#consumed[0] === messages && this.#sent[0] === messages && !this.#free.includes(0);
    return all && this.#finished[0] === 1;
  }

  /** The responder has taken everything up to the end. */
  get hasEnd(): boolean {
    return this.#finished[0] === 1;
  }

  get hasReleasedAll(): boolean {
    return this.#work.every((work) => work === Work.NONE);
  }

  get isDismissed(): boolean {
    return this.#dismissed[0] === 1;
  }

  /** The requester continues without the responder, which leaves. @throws if the application there holds a message */
  dismiss(): void {
    if (!this.hasReleasedAll) throw new Error('the responder was dismissed while it held a message');
    this.#dismissed[0] = 1;
    this.#ops.fill(0);
    this.#opCount[0] = 0;
    for (const part of [this.#readsP, this.#readsR, this.#arrivals, this.#confirmations]) part.fill(0);
    this.#requester.broke();
    this.#requester.dismiss();
  }

  /** Writes the next message into the only slot, as if it were free. */
  overwrite(): void {
    this.#free[0] = 1;
    this.#post();
  }

  steps(): string[] {
    const steps: string[] = [];
    const add = (possible: boolean, step: string): void => void (possible && steps.push(step));
    const { setting } = this;
    const up = this.#phase[0] === Phase.UP;
    add(up && this.#sent[0]! < setting.messages && this.#free.includes(1), 'post');
    this.#addOps(add);
    add(up && this.#mayEnd(), 'end');
    this.#addBoards(add, up);
    for (let slot = 0; slot < setting.slots; slot += 1) {
      add(this.#work[slot] === Work.DELIVERED, `begin ${slot}`);
      add(this.#work[slot] === Work.WORKING, `finish ${slot}`);
      add(
        this.#work[slot] === Work.DONE && this.#releases[slot]! < (setting.releases ?? 1),
        `release ${slot}`,
      );
    }
    add(up && this.#losses[0]! < setting.losses, 'lose');
    add(this.#phase[0] === Phase.BROKEN, setting.carelessReconnect ? 'resumeCarelessly' : 'agree');
    add(this.#phase[0] === Phase.AGREED, 'resume');
    return steps;
  }

  #addBoards(add: (possible: boolean, step: string) => void, up: boolean): void {
    // The responder may not know of a break yet.
    const agreed = this.#phase[0] === Phase.AGREED;
    if (this.setting.mode === 'per-request') {
      add(!agreed && this.#arrivals[0]! > 0, 'arrive');
      add(up && this.#confirmations[0]! > 0, 'confirm');
      return;
    }
    add(up && this.#mayRefresh(), 'readP');
    this.#addReads(add, 'P', this.#readsP);
    if (this.setting.mode === 'push') add(!agreed && this.#finished[0] === 0, 'look');
    else add(!agreed && this.#freeRead(this.#readsR) >= 0 && this.#finished[0] === 0, 'readR');
    this.#addReads(add, 'R', this.#readsR);
  }

  take(step: string): void {
    const [name, argument = '0'] = step.split(' ');
    this.#actions[name!]!(Number(argument));
  }

  freed(slot: number): void {
    if (this.#free[slot] === 1) throw new Error(`slot ${slot} was freed twice`);
    this.#free[slot] = 1;
  }

  delivered(slot: number): void {
    if (this.#work[slot] !== Work.NONE && this.#work[slot] !== Work.DONE) {
      throw new Error(`slot ${slot} was delivered while the application works on it`);
    }
    const message = this.#consumed[0]!;
    this.#consumed[0] = message + 1;
    this.#work[slot] = Work.DELIVERED;
    this.#workMessage[slot] = message;
  }

  #post(): void {
    const slot = this.#free.indexOf(1);
    this.#free[slot] = 0;
    const message = this.#sent[0]!;
    this.#sent[0] = message + 1;
    this.#requester.posted(slot, message);
    this.#write(slot, message);
  }

  #write(slot: number, message: number): void {
    this.#append(Kind.WRITE, slot, message);
    if (this.setting.mode === 'push' && this.#announcesAtPosting()) this.#push();
  }

  #push(): void {
    this.#unpushed[0] = 0;
    this.#append(Kind.PUSH, this.#announced[0]!, this.#ended[0] === 1 ? WITH_END : NO_MESSAGE);
  }

  /** If pushes follow completions: as many at a time as the setting says, and the rest together afterwards. */
  #pushLater(): void {
    let underWay = 0;
    for (let at = 0; at < this.#opCount[0]! * OP_WORDS; at += OP_WORDS) {
      if (this.#ops[at + Op.KIND] === Kind.PUSH) underWay += 1;
    }
    if (underWay < (this.setting.pushes ?? 1)) this.#push();
    else this.#unpushed[0] = 1;
  }

  #end(): void {
    this.#ended[0] = 1;
    if (this.setting.mode === 'per-request') this.#append(Kind.END, 0, NO_MESSAGE);
    else if (this.setting.mode === 'push' && this.#announcesAtPosting()) this.#push();
    else if (this.setting.mode === 'push') this.#pushLater();
  }

  #announcesAtPosting(): boolean {
    return this.setting.announceAt !== 'completion';
  }

  #append(kind: number, a: number, message: number): void {
    const at = this.#opCount[0]! * OP_WORDS;
    if (at >= this.#ops.length) throw new Error('the model needs a longer queue');
    this.#ops.set([kind, a, message, this.#generation[0]!, OpState.QUEUED, this.#requester.postedCount], at);
    this.#opCount[0]! += 1;
  }

  #addOps(add: (possible: boolean, step: string) => void): void {
    const count = this.#opCount[0]!;
    for (let i = 0; i < count; i += 1) {
      const state = this.#ops[i * OP_WORDS + Op.STATE]!;
      if (state !== OpState.PLACED) add(state !== OpState.PLACING || this.#isWrite(i), `place ${i}`);
      const hasEnd = !this.#isWrite(i) && this.#ops[i * OP_WORDS + Op.MESSAGE] === WITH_END;
      add(hasEnd && (state === OpState.QUEUED || state === OpState.PLACING), `placeEnd ${i}`);
      if (state !== OpState.PLACED && (this.setting.ordersWrites ?? true)) break;
    }
    add(
      count > 0 && this.#ops[Op.STATE] === OpState.PLACED && this.#phase[0] === Phase.UP && this.#isOwn(),
      'complete',
    );
  }

  #isWrite(i: number): boolean {
    return this.#ops[i * OP_WORDS + Op.KIND] !== Kind.PUSH;
  }

  /** The head of the queue belongs to the present connection. */
  #isOwn(): boolean {
    return this.#ops[Op.GENERATION] === this.#generation[0];
  }

  #place(i: number): void {
    const at = i * OP_WORDS;
    const [kind, a, message, generation, state] = this.#ops.subarray(at, at + OP_WORDS);
    if (kind === Kind.PUSH) {
      this.#landingR[0] = this.setting.pushesLiveWords ? this.#announced[0]! : a!;
      const rest = message === WITH_END && state === OpState.QUEUED;
      this.#ops[at + Op.STATE] = rest ? OpState.PLACING : OpState.PLACED;
      return;
    }
    if (kind === Kind.END) {
      push(this.#arrivals, END);
      this.#ops[at + Op.STATE] = OpState.PLACED;
      return;
    }
    const payload = payloadOffset(a!, STRIDE, SLOT_BYTES) / 4;
    if (state === OpState.QUEUED) {
      this.#pool[payload] = TORN;
      this.#ops[at + Op.STATE] = OpState.PLACING;
      return;
    }
    this.#pool[payload] = message!;
    this.#pool.set([message!, SLOT_BYTES, generation!, 0], ((a! + 1) * STRIDE - 16) / 4);
    this.#ops[at + Op.STATE] = OpState.PLACED;
    if (this.setting.mode === 'per-request') push(this.#arrivals, a!);
  }

  #placeEnd(i: number): void {
    const at = i * OP_WORDS + Op.STATE;
    this.#landingEnd[0] = 1;
    this.#ops[at] = this.#ops[at] === OpState.PLACING ? OpState.PLACED : OpState.PLACING_END;
  }

  #arrive(): void {
    const slot = shift(this.#arrivals);
    if (slot !== END) this.#responder.arrived(slot);
    else if (this.#responder.ended(this.setting.messages) || this.#responder.ended(this.setting.messages)) {
      this.#finished[0] = 1;
    }
  }

  #look(): void {
    this.#responder.take();
    if (this.#landingEnd[0] === 0) return;
    if (this.setting.tornEnd || this.#responder.hasAll(this.setting.messages)) this.#takeEnd();
    else if (this.#freeRead(this.#readsR) >= 0) this.#issue(this.#readsR, () => this.#responder.beginRead());
  }

  #takeEnd(): void {
    if (this.#consumed[0] !== this.setting.messages)
      throw new Error('the end was taken before everything had arrived');
    this.#finished[0] = 1;
  }

  #complete(): void {
    const [kind, , , , , upTo] = this.#ops.subarray(0, OP_WORDS);
    this.#ops.copyWithin(0, OP_WORDS);
    this.#ops.fill(0, this.#ops.length - OP_WORDS);
    this.#opCount[0]! -= 1;
    if (kind === Kind.PUSH && this.#unpushed[0] === 1) this.#pushLater();
    if (kind !== Kind.WRITE) return;
    this.#requester.completed(upTo!);
    this.#requester.collect();
    if (this.setting.mode === 'push' && !this.#announcesAtPosting()) this.#pushLater();
  }

  #mayRefresh(): boolean {
    const free = this.#free.reduce((sum, value) => sum + value, 0);
    const limit = refreshLimit(this.setting.slots, 0.5);
    const refreshes = this.setting.refreshes ?? ((count: number) => count <= limit);
    const draining = this.#sent[0] === this.setting.messages && this.setting.refreshes === undefined;
    return this.#freeRead(this.#readsP) >= 0 && this.#requester.hasFull && (refreshes(free) || draining);
  }

  /** The end flag follows the last bit. */
  #mayEnd(): boolean {
    return this.#sent[0] === this.setting.messages && !this.#requester.writing && this.#ended[0] === 0;
  }

  #freeRead(reads: Int32Array): number {
    for (let i = 0; i < reads.length; i += READ_WORDS) if (reads[i] === ReadState.NONE) return i / READ_WORDS;
    return -1;
  }

  #issue(reads: Int32Array, begin: () => boolean): void {
    // More than one is outstanding only in that variant: then the machine's own guard is bypassed.
    if (!begin() && (this.setting.reads ?? 1) === 1) return;
    reads[this.#freeRead(reads) * READ_WORDS] = ReadState.ISSUED;
  }

  #addReads(add: (possible: boolean, step: string) => void, name: string, reads: Int32Array): void {
    for (let i = 0; i < reads.length / READ_WORDS; i += 1) {
      const state = reads[i * READ_WORDS];
      add(state === ReadState.ISSUED || state === ReadState.SAMPLED_END, `sample${name} ${i}`);
      const hasEnd = name === 'R' && (state === ReadState.ISSUED || state === ReadState.SAMPLED_BITS);
      add(hasEnd, `sampleEnd${name} ${i}`);
      add(state === ReadState.SAMPLED, `return${name} ${i}`);
    }
  }

  #sample(reads: Int32Array, i: number, value: number, state: number): void {
    const at = i * READ_WORDS;
    reads[at] = reads[at] === ReadState.SAMPLED_END ? ReadState.SAMPLED : state;
    reads[at + 1] = value;
  }

  #sampleEnd(i: number): void {
    const at = i * READ_WORDS;
    const both = this.#readsR[at] === ReadState.SAMPLED_BITS;
    this.#readsR[at] = both ? ReadState.SAMPLED : ReadState.SAMPLED_END;
    this.#readsR[at + 2] = this.#ended[0]!;
  }

  #return(reads: Int32Array, i: number): [bits: number, ended: number] {
    const at = i * READ_WORDS;
    const [, bits, ended] = reads.subarray(at, at + READ_WORDS);
    reads.fill(0, at, at + READ_WORDS);
    return [bits!, ended!];
  }

  #returnP(i: number): void {
    this.#landingP[0] = this.#return(this.#readsP, i)[0];
    this.#requester.readReturned();
  }

  #returnR(i: number): void {
    const [bits, ended] = this.#return(this.#readsR, i);
    this.#landingR[0] = bits;
    this.#responder.readReturned();
    this.#responder.take();
    if (ended === 1 && this.#responder.ended(this.setting.messages)) this.#takeEnd();
  }

  /** The application reads the expected message, completely. */
  #check(slot: number): void {
    const found = this.#pool[payloadOffset(slot, STRIDE, SLOT_BYTES) / 4];
    if (found !== this.#workMessage[slot]) {
      throw new Error(`message ${this.#workMessage[slot]} reads ${found === TORN ? 'torn' : found}`);
    }
  }

  #begin(slot: number): void {
    this.#check(slot);
    this.#work[slot] = Work.WORKING;
  }

  #finish(slot: number): void {
    this.#check(slot);
    this.#work[slot] = Work.DONE;
    this.#releases[slot] = 0;
  }

  #release(slot: number): void {
    this.#releases[slot]! += 1;
    if (this.#releases[slot] === (this.setting.releases ?? 1)) this.#work[slot] = Work.NONE;
    Atomics.xor(this.#released, 0, bitOf(slot));
    if (this.setting.mode !== 'per-request') return;
    if (this.#phase[0] !== Phase.AGREED) this.#confirm(slot);
    else if (!this.setting.forgetsLateReleases) push(this.#late, slot);
  }

  /** Recorded when it is posted; on a broken connection it is dropped. */
  #confirm(slot: number): void {
    this.#confirmed[0]! ^= bitOf(slot);
    if (this.#phase[0] === Phase.UP) push(this.#confirmations, slot);
  }

  /** Posted requests may or may not still arrive; their completions do not. */
  #lose(): void {
    this.#losses[0]! += 1;
    this.#phase[0] = Phase.BROKEN;
    this.#ended[0] = 0;
    this.#readsP.fill(0);
    this.#confirmations.fill(0);
    this.#unpushed[0] = 0;
    this.#requester.broke();
  }

  /** The responder's barrier: after it, requests of the old generation do not arrive. */
  #agree(): void {
    this.#phase[0] = Phase.AGREED;
    this.#ops.fill(0);
    this.#opCount[0] = 0;
    this.#readsR.fill(0);
    this.#arrivals.fill(0);
    this.#landingEnd[0] = 0;
    this.#generation[0]! += 1;
    this.#responder.restart(this.#generation[0]!);
    const released = this.setting.mode === 'per-request' ? this.#confirmed : this.#released;
    this.#account.set([this.#responder.claimedWord(0), released[0]!, this.#responder.next]);
  }

  #resume(): void {
    this.#phase[0] = Phase.UP;
    this.#resend(this.#account.slice(0, 1), this.#account.slice(1, 2), this.#account[2]!);
    this.#account.fill(0);
    while (this.#late[0]! > 0) this.#confirm(shift(this.#late));
  }

  #resumeCarelessly(): void {
    this.#phase[0] = Phase.UP;
    this.#resend(Int32Array.of(this.#responder.claimedWord(0)), this.#released.slice());
  }

  #resend(claimed: Int32Array, released: Int32Array, next = this.#responder.next): void {
    const again = this.#requester.resume(claimed, released, next);
    for (const slot of again) {
      const message = this.#requester.sequenceOf(slot);
      this.#requester.posted(slot, message);
      this.#write(slot, message);
    }
  }
}

/** A queue in an array: its length, then its items. */
function push(queue: Int32Array, value: number): void {
  queue[0]! += 1;
  if (queue[0]! === queue.length) throw new Error('the model needs a longer queue');
  queue[queue[0]!] = value;
}

function shift(queue: Int32Array): number {
  const value = queue[1]!;
  queue.copyWithin(1, 2);
  queue[queue.length - 1] = 0;
  queue[0]! -= 1;
  return value;
}
