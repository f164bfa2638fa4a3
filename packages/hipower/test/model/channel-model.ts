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
import type { Model } from './explore.js';
import { ModelMemory } from './memory.js';

/** What is tried: the protocol as it is, or one of its wrong variants. */
export interface Setting {
  readonly slots: number;
  readonly messages: number;
  readonly mode: 'pull' | 'push';
  /** How often the connection may break. */
  readonly losses: number;
  /** The device places a later WRITE after an earlier one of its queue pair (default true). */
  readonly ordersWrites?: boolean;
  readonly announceAt?: AnnounceAt;
  /** A push carries what the words hold when it is placed, not when it was posted. */
  readonly pushesLiveWords?: boolean;
  /** READs that may be under way per direction (default 1). */
  readonly reads?: number;
  readonly releases?: number;
  /** The refresh rule; default `refreshLimit(slots, 0.5)`. */
  readonly refreshes?: (free: number) => boolean;
  /** The requester goes on after a loss without the responder's barrier and account. */
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
const Kind = { WRITE: 1, PUSH: 2 } as const;
const OpState = { QUEUED: 0, PLACING: 1, PLACED: 2 } as const;
/** A READ: its state, the bits it saw, and whether it saw the end flag. Words of one READ are of different instants. */
const READ_WORDS = 3;
const ReadState = { NONE: 0, ISSUED: 1, SAMPLED_BITS: 2, SAMPLED_END: 3, SAMPLED: 4 } as const;
const Phase = { UP: 0, BROKEN: 1, AGREED: 2 } as const;
const Work = { NONE: 0, DELIVERED: 1, WORKING: 2, DONE: 3 } as const;

/** One requester and one responder over a queue pair that does every legal thing. One bitmap word; a message is one slot. */
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

  readonly #actions: Readonly<Record<string, (index: number) => void>> = {
    post: () => this.#post(),
    place: (index) => this.#place(index),
    complete: () => this.#complete(),
    end: () => void this.#ended.fill(1),
    readP: () => this.#issue(this.#readsP, () => this.#requester.beginRead()),
    readR: () => this.#issue(this.#readsR, () => this.#responder.beginRead()),
    sampleP: (index) => this.#sample(this.#readsP, index, this.#released[0]!, ReadState.SAMPLED),
    sampleR: (index) => this.#sample(this.#readsR, index, this.#announced[0]!, ReadState.SAMPLED_BITS),
    sampleEndR: (index) => this.#sampleEnd(index),
    returnP: (index) => this.#returnP(index),
    returnR: (index) => this.#returnR(index),
    look: () => void this.#responder.take(),
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
    const announceAt = setting.announceAt ?? (mode === 'push' ? 'posting' : 'completion');
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

  snapshot(): Int32Array {
    return this.#memory.snapshot();
  }

  restore(state: Int32Array): void {
    this.#memory.restore(state);
  }

  done(): boolean {
    const { messages } = this.setting;
    const all = this.#consumed[0] === messages && this.#sent[0] === messages && !this.#free.includes(0);
    return all && (this.setting.mode === 'push' || this.#finished[0] === 1);
  }

  steps(): string[] {
    const steps: string[] = [];
    const add = (possible: boolean, step: string): void => void (possible && steps.push(step));
    const { setting } = this;
    const up = this.#phase[0] === Phase.UP;
    add(up && this.#sent[0]! < setting.messages && this.#free.includes(1), 'post');
    this.#addOps(add);
    add(up && this.#mayEnd(), 'end');
    add(up && this.#mayRefresh(), 'readP');
    this.#addReads(add, 'P', this.#readsP);
    if (setting.mode === 'pull') {
      // The responder may not know of the break yet.
      add(this.#phase[0] !== Phase.AGREED && this.#freeRead(this.#readsR) >= 0 && this.#mayReadR(), 'readR');
      this.#addReads(add, 'R', this.#readsR);
    } else {
      add(this.#phase[0] !== Phase.AGREED, 'look');
    }
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
    if (this.setting.mode === 'push' && this.#announcesAtPosting())
      this.#append(Kind.PUSH, this.#announced[0]!, -1);
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
      if (state !== OpState.PLACED) add(true, `place ${i}`);
      if (state !== OpState.PLACED && (this.setting.ordersWrites ?? true)) break;
    }
    add(
      count > 0 && this.#ops[Op.STATE] === OpState.PLACED && this.#phase[0] === Phase.UP && this.#isOwn(),
      'complete',
    );
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
  }

  #complete(): void {
    const [kind, , , , , upTo] = this.#ops.subarray(0, OP_WORDS);
    this.#ops.copyWithin(0, OP_WORDS);
    this.#ops.fill(0, this.#ops.length - OP_WORDS);
    this.#opCount[0]! -= 1;
    if (kind !== Kind.WRITE) return;
    this.#requester.completed(upTo!);
    this.#requester.collect();
    if (this.setting.mode === 'push' && !this.#announcesAtPosting())
      this.#append(Kind.PUSH, this.#announced[0]!, -1);
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

  #mayReadR(): boolean {
    return this.#finished[0] === 0;
  }

  #freeRead(reads: Int32Array): number {
    for (let i = 0; i < reads.length; i += READ_WORDS) if (reads[i] === ReadState.NONE) return i / READ_WORDS;
    return -1;
  }

  #issue(reads: Int32Array, begin: () => boolean): void {
    // More than one under way only where the variant says so: then the machine's own guard is passed over.
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
    if (ended === 1 && this.#responder.ended(this.setting.messages)) this.#finished[0] = 1;
  }

  /** What the application reads is the message that is due there, whole. */
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
  }

  /** What was posted may or may not still arrive; completions will not. */
  #lose(): void {
    this.#losses[0]! += 1;
    this.#phase[0] = Phase.BROKEN;
    this.#ended[0] = 0;
    this.#readsP.fill(0);
    this.#requester.broke();
  }

  /** The responder's barrier: from here on nothing of the old generation arrives. */
  #agree(): void {
    this.#phase[0] = Phase.AGREED;
    this.#ops.fill(0);
    this.#opCount[0] = 0;
    this.#readsR.fill(0);
    this.#generation[0]! += 1;
    this.#responder.restart(this.#generation[0]!);
    this.#account.set([this.#responder.claimedWord(0), this.#released[0]!, this.#responder.next]);
  }

  #resume(): void {
    this.#phase[0] = Phase.UP;
    this.#resend(this.#account.slice(0, 1), this.#account.slice(1, 2), this.#account[2]!);
    this.#account.fill(0);
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
