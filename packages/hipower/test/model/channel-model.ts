import { type Model, ModelMemory, type ModelQueue } from '@rdmc/testing';
import { bitOf } from '../../src/machine/bits.js';
import { refreshLimit } from '../../src/machine/refresh-rule.js';
import {
  type FreeSlots,
  RequesterMachine,
  requesterStateWords,
} from '../../src/machine/requester-machine.js';
import {
  type Deliveries,
  ResponderMachine,
  responderStateWords,
} from '../../src/machine/responder-machine.js';
import { Application, SLOT_BYTES, STRIDE } from './application.js';
import type { Setting } from './channel-setting.js';
import { ReadBoard } from './read-board.js';
import { Kind, NO_MESSAGE, type Request, RequestQueue, type RequestTarget } from './request-queue.js';

/** In the queue of arrivals: the end. */
const END = -1;
const Phase = { UP: 0, BROKEN: 1, AGREED: 2 } as const;

type Add = (possible: boolean, step: string) => void;

/** One requester and one responder over a queue pair with every legal behaviour. One bitmap word; a message is one slot. */
export class ChannelModel implements Model, FreeSlots, Deliveries, RequestTarget {
  readonly #memory = new ModelMemory();
  readonly #requester: RequesterMachine;
  readonly #responder: ResponderMachine;
  readonly #announced = this.#memory.take(1);
  readonly #released = this.#memory.take(1);
  readonly #landingP = this.#memory.take(1);
  readonly #landingR = this.#memory.take(1);
  /** 1: the requester's application may fill the slot. */
  readonly #free: Int32Array;
  readonly #sent = this.#memory.take(1);
  readonly #requests: RequestQueue;
  readonly #readsP: ReadBoard;
  readonly #readsR: ReadBoard;
  readonly #application: Application;
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
  /** Per-request: slots of immediates that have arrived, and of confirmations on their way. */
  readonly #arrivals: ModelQueue;
  readonly #confirmations: ModelQueue;
  /** Releases between two connections. */
  readonly #late: ModelQueue;
  /** The responder has left, and the requester knows that it has everything. */
  readonly #dismissed = this.#memory.take(1);
  /** P of the confirmed slots. */
  readonly #confirmed = this.#memory.take(1);

  readonly #actions: Readonly<Record<string, (index: number) => void>> = {
    post: () => this.#post(),
    place: (index) => this.#requests.place(index, this),
    complete: () => this.#complete(),
    placeEnd: (index) => this.#requests.placeEnd(index, this),
    end: () => this.#end(),
    arrive: () => this.#arrive(),
    confirm: () => this.#requester.recycled(this.#confirmations.shift()),
    readP: () => this.#readsP.issue(() => this.#requester.beginRead()),
    readR: () => this.#readsR.issue(() => this.#responder.beginRead()),
    sampleP: (index) => this.#readsP.sample(index, this.#released[0]!),
    sampleR: (index) => this.#readsR.sample(index, this.#announced[0]!),
    sampleEndR: (index) => this.#readsR.sampleEnd(index, this.#ended[0] === 1),
    returnP: (index) => this.#returnP(index),
    returnR: (index) => this.#returnR(index),
    look: () => this.#look(),
    begin: (index) => this.#application.begin(index),
    finish: (index) => this.#application.finish(index),
    release: (index) => this.#release(index),
    lose: () => this.#lose(),
    agree: () => this.#agree(),
    resume: () => this.#resume(),
    resumeCarelessly: () => this.#resumeCarelessly(),
  };

  constructor(private readonly setting: Setting) {
    const { slots, reads = 1, releases = 1, mode } = setting;
    const memory = this.#memory;
    this.#application = new Application(memory, slots, releases);
    this.#free = memory.take(slots).fill(1);
    this.#requests = new RequestQueue(memory, 4 * (slots + 1), setting.ordersWrites ?? true);
    this.#readsP = new ReadBoard(memory, reads, 'P', false);
    this.#readsR = new ReadBoard(memory, reads, 'R', true);
    this.#arrivals = memory.takeQueue(slots + 1);
    this.#confirmations = memory.takeQueue(2 * slots + 1);
    this.#late = memory.takeQueue(slots);
    const announceAt = setting.announceAt ?? (mode === 'pull' ? 'completion' : 'posting');
    const Requester = setting.requester ?? RequesterMachine;
    const Responder = setting.responder ?? ResponderMachine;
    this.#requester = new Requester(
      { slots, announced: this.#announced, landing: this.#landingP, announceAt },
      this,
      memory.take(requesterStateWords(slots)),
    );
    const { pool } = this.#application;
    const boards = { landing: this.#landingR, released: this.#released };
    this.#responder = new Responder(
      { slots, stride: STRIDE, slotBytes: SLOT_BYTES, pool, ...boards },
      this,
      memory.take(responderStateWords(slots)),
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
    const all =
      this.#application.consumed === messages && this.#sent[0] === messages && !this.#free.includes(0);
    return all && this.#finished[0] === 1;
  }

  /** The responder has taken everything up to the end. */
  get hasEnd(): boolean {
    return this.#finished[0] === 1;
  }

  get hasReleasedAll(): boolean {
    return this.#application.hasReleasedAll;
  }

  get isDismissed(): boolean {
    return this.#dismissed[0] === 1;
  }

  /** The requester continues without the responder, which leaves. @throws if the application there holds a message */
  dismiss(): void {
    if (!this.hasReleasedAll) throw new Error('the responder was dismissed while it held a message');
    this.#dismissed[0] = 1;
    for (const part of [this.#requests, this.#readsP, this.#readsR, this.#arrivals, this.#confirmations])
      part.clear();
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
    const add: Add = (possible, step) => void (possible && steps.push(step));
    const { setting } = this;
    const up = this.#phase[0] === Phase.UP;
    add(up && this.#sent[0]! < setting.messages && this.#free.includes(1), 'post');
    this.#requests.addSteps(add);
    add(up && this.#requests.mayComplete(this.#generation[0]!), 'complete');
    add(up && this.#mayEnd(), 'end');
    this.#addBoards(add, up);
    this.#application.addSteps(add);
    add(up && this.#losses[0]! < setting.losses, 'lose');
    add(this.#phase[0] === Phase.BROKEN, setting.carelessReconnect ? 'resumeCarelessly' : 'agree');
    add(this.#phase[0] === Phase.AGREED, 'resume');
    return steps;
  }

  #addBoards(add: Add, up: boolean): void {
    // The responder may not know of a break yet.
    const agreed = this.#phase[0] === Phase.AGREED;
    if (this.setting.mode === 'per-request') {
      add(!agreed && this.#arrivals.length > 0, 'arrive');
      add(up && this.#confirmations.length > 0, 'confirm');
      return;
    }
    add(up && this.#mayRefresh(), 'readP');
    this.#readsP.addSteps(add);
    if (this.setting.mode === 'push') add(!agreed && this.#finished[0] === 0, 'look');
    else add(!agreed && this.#readsR.hasFree && this.#finished[0] === 0, 'readR');
    this.#readsR.addSteps(add);
  }

  take(step: string): void {
    const [name, argument = '0'] = step.split(' ');
    this.#actions[name!]!(Number(argument));
  }

  // For the requester and the responder.

  freed(slot: number): void {
    if (this.#free[slot] === 1) throw new Error(`slot ${slot} was freed twice`);
    this.#free[slot] = 1;
  }

  delivered(slot: number): void {
    this.#application.delivered(slot);
  }

  // For the device, which places requests.

  tear(slot: number): void {
    this.#application.tear(slot);
  }

  write({ argument: slot, message, generation }: Request): void {
    this.#application.write(slot, message, generation);
    if (this.setting.mode === 'per-request') this.#arrivals.push(slot);
  }

  push(bits: number): void {
    this.#landingR[0] = this.setting.pushesLiveWords ? this.#announced[0]! : bits;
  }

  pushEnd(): void {
    this.#landingEnd[0] = 1;
  }

  end(): void {
    this.#arrivals.push(END);
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
    const { postedCount } = this.#requester;
    this.#requests.appendPush(this.#announced[0]!, this.#ended[0] === 1, this.#generation[0]!, postedCount);
  }

  /** If pushes follow completions: as many at a time as the setting says, and the rest together afterwards. */
  #pushLater(): void {
    if (this.#requests.pushes < (this.setting.pushes ?? 1)) this.#push();
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

  #append(kind: number, argument: number, message: number): void {
    const upTo = this.#requester.postedCount;
    this.#requests.append({ kind, argument, message, generation: this.#generation[0]!, upTo });
  }

  #arrive(): void {
    const slot = this.#arrivals.shift();
    if (slot !== END) this.#responder.arrived(slot);
    else if (this.#responder.ended(this.setting.messages) || this.#responder.ended(this.setting.messages)) {
      this.#finished[0] = 1;
    }
  }

  #look(): void {
    this.#responder.take();
    if (this.#landingEnd[0] === 0) return;
    if (this.setting.tornEnd || this.#responder.hasAll(this.setting.messages)) this.#takeEnd();
    else if (this.#readsR.hasFree) this.#readsR.issue(() => this.#responder.beginRead());
  }

  #takeEnd(): void {
    if (this.#application.consumed !== this.setting.messages)
      throw new Error('the end was taken before everything had arrived');
    this.#finished[0] = 1;
  }

  #complete(): void {
    const { kind, upTo } = this.#requests.complete();
    if (kind === Kind.PUSH && this.#unpushed[0] === 1) this.#pushLater();
    if (kind !== Kind.WRITE) return;
    this.#requester.completed(upTo);
    this.#requester.collect();
    if (this.setting.mode === 'push' && !this.#announcesAtPosting()) this.#pushLater();
  }

  #mayRefresh(): boolean {
    const free = this.#free.reduce((sum, value) => sum + value, 0);
    const limit = refreshLimit(this.setting.slots, 0.5);
    const refreshes = this.setting.refreshes ?? ((count: number) => count <= limit);
    const draining = this.#sent[0] === this.setting.messages && this.setting.refreshes === undefined;
    return this.#readsP.hasFree && this.#requester.hasFull && (refreshes(free) || draining);
  }

  /** The end flag follows the last bit. */
  #mayEnd(): boolean {
    return this.#sent[0] === this.setting.messages && !this.#requester.writing && this.#ended[0] === 0;
  }

  #returnP(i: number): void {
    this.#landingP[0] = this.#readsP.return(i).bits;
    this.#requester.readReturned();
  }

  #returnR(i: number): void {
    const { bits, hasEnded } = this.#readsR.return(i);
    this.#landingR[0] = bits;
    this.#responder.readReturned();
    this.#responder.take();
    if (hasEnded && this.#responder.ended(this.setting.messages)) this.#takeEnd();
  }

  #release(slot: number): void {
    this.#application.release(slot);
    Atomics.xor(this.#released, 0, bitOf(slot));
    if (this.setting.mode !== 'per-request') return;
    if (this.#phase[0] !== Phase.AGREED) this.#confirm(slot);
    else if (!this.setting.forgetsLateReleases) this.#late.push(slot);
  }

  /** Recorded when it is posted; on a broken connection it is dropped. */
  #confirm(slot: number): void {
    this.#confirmed[0]! ^= bitOf(slot);
    if (this.#phase[0] === Phase.UP) this.#confirmations.push(slot);
  }

  /** Posted requests may or may not still arrive; their completions do not. */
  #lose(): void {
    this.#losses[0]! += 1;
    this.#phase[0] = Phase.BROKEN;
    this.#ended[0] = 0;
    this.#readsP.clear();
    this.#confirmations.clear();
    this.#unpushed[0] = 0;
    this.#requester.broke();
  }

  /** The responder's barrier: after it, requests of the old generation do not arrive. */
  #agree(): void {
    this.#phase[0] = Phase.AGREED;
    this.#requests.clear();
    this.#readsR.clear();
    this.#arrivals.clear();
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
    while (this.#late.length > 0) this.#confirm(this.#late.shift());
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
