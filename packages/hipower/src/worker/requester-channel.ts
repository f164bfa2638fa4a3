import type { ProtocolContext } from '@rdmc/dataplane';
import { attachRegion, type MemoryRegion } from '@rdmc/verbs';
import { BATCH_BYTES } from '../constants.js';
import { ChannelMemory, ChannelWord, Counter, PeerCounter } from '../layout/channel-memory.js';
import type { EntryReader, EntryWriter } from '../layout/entry-ring.js';
import { FOOTER_BYTES, FooterWord, footerIndex, payloadOffset, slotStride } from '../layout/footer.js';
import type { Violation } from '../machine/violation.js';
import type { ChannelSetup, ConnectOrder, HiPowerRecords, PairAnswer } from '../records.js';
import { ChannelTrace } from './channel-trace.js';
import { IdlePace } from './idle-pace.js';
import { type OutgoingHost, OutgoingLink } from './outgoing-link.js';
import type { ChannelPort, WorkerChannel } from './worker-channel.js';

/** Slots passed to the links together; their requests are one batch of the device, and are announced together. */
const BATCH = 128;
/** Share of free slots at which a waiting application is woken at once. */
const WAKE_SHARE = 0.25;

/** The worker's side of a requester: writes slots that the application filled to every responder. */
export class RequesterChannel implements WorkerChannel, OutgoingHost {
  touched = false;
  isBulky = false;
  readonly memory: ChannelMemory;
  readonly pool: MemoryRegion;
  readonly boards: MemoryRegion;
  readonly #links: OutgoingLink[];
  readonly #filled: EntryReader;
  readonly #free: EntryWriter;
  readonly #words: Int32Array;
  readonly #footers: Int32Array;
  readonly #stride: number;
  /** Responders that have not released a slot yet. */
  readonly #pending: Int32Array;
  readonly #trace: ChannelTrace | undefined;
  readonly #batch = new Int32Array(BATCH * 3);
  readonly #batchBytes: number;
  /** Free slots at which a waiting application is woken at once. */
  readonly #wakeAt: number;
  #sequence = 0;
  #generation = 0;
  #running = false;
  #starting = false;
  /** A look is scheduled. */
  #looksAgain = false;
  /** A connection of the new generation failed before the start. */
  #brokenEarly: { readonly peer: number; readonly reason: string } | undefined;
  /** A responder of that generation violated the protocol before the start. */
  #violatedEarly: { readonly peer: number; readonly violation: Violation } | undefined;
  /** Slots that the application committed and that are not free again. */
  #taken = 0;

  constructor(
    readonly context: ProtocolContext<HiPowerRecords>,
    readonly setup: ChannelSetup,
    private readonly port: ChannelPort,
  ) {
    const { device } = context;
    this.memory = new ChannelMemory(attachRegion(device, setup.memory).view(), setup.slots, setup.peers);
    this.pool = attachRegion(device, setup.pool);
    this.boards = attachRegion(device, setup.boards);
    const pool = this.pool.view();
    this.#footers = new Int32Array(pool.buffer, pool.byteOffset, pool.byteLength / 4);
    this.#stride = slotStride(setup.slotBytes);
    this.#words = this.memory.words;
    this.#filled = this.memory.outwardReader();
    this.#free = this.memory.inwardWriter();
    this.#pending = new Int32Array(setup.slots);
    this.#wakeAt = Math.ceil(setup.slots * WAKE_SHARE);
    // Confirmation per work request announces every slot by itself, also in a batch.
    this.#batchBytes = setup.confirmation === 'bitmap' ? BATCH_BYTES : Number.POSITIVE_INFINITY;
    this.#trace = context.trace && new ChannelTrace(context.trace, setup);
    this.#links = Array.from({ length: setup.peers }, (_, peer) => new OutgoingLink(this, peer));
  }

  createPair(peer: number, generation: number): PairAnswer {
    this.#running = false;
    this.#starting = false;
    if (this.#generation !== generation) {
      this.#brokenEarly = undefined;
      this.#violatedEarly = undefined;
    }
    this.#generation = generation;
    return { address: this.#links[peer]!.createPair(generation), account: null };
  }

  connect(order: ConnectOrder): Promise<string> {
    return this.#links[order.peer]!.connect(order);
  }

  /** This side does not wait for completions of its own requests. */
  get waitsForSolicited(): boolean {
    for (const link of this.#links) if (!link.waitsForSolicited) return false;
    return true;
  }

  /** Takes effect at the end of the turn: the answer precedes an error of the start. */
  start(): void {
    this.#starting = true;
    this.wake();
  }

  dismiss(peer: number): void {
    this.#links[peer]!.dismiss();
    this.wake();
  }

  advance(): void {
    Atomics.store(this.#words, ChannelWord.KICKED, 0);
    this.#looksAgain = false;
    if (this.#starting) this.#start();
    if (this.#running) this.#post();
    this.#tell();
    this.#spareKicks();
  }

  kick(): void {
    for (const link of this.#links) link.interrupt();
  }

  close(): void {
    this.#running = false;
    this.#starting = false;
    this.#trace?.waits(false);
    for (const link of this.#links) link.close();
  }

  freed(slot: number, peer: number): void {
    this.#trace?.released(slot, peer);
    this.#pending[slot]! -= 1;
    if (this.#pending[slot] !== 0) return;
    this.#taken -= 1;
    this.#free.append(slot, 0, 0, 0);
  }

  createPace(): IdlePace {
    const { spinMs, maxIdleMs } = this.setup;
    return new IdlePace(spinMs, maxIdleMs, true, this.memory.counters, () => {
      this.#looksAgain = true;
      this.port.lookAgain();
    });
  }

  touch(): void {
    this.port.touch();
  }

  wake(): void {
    this.port.touch();
    this.context.wake();
  }

  /** One generation for all links: if one fails, all reconnect. */
  broke(peer: number, generation: number, reason: string): void {
    if (generation !== this.#generation) return;
    if (!this.#running) {
      this.#brokenEarly ??= { peer, reason };
      return;
    }
    this.#running = false;
    this.port.trouble(peer, this.#generation, 'connection', 'ERR_RDMC_HIPOWER_CONNECTION_LOST', reason);
  }

  violated(peer: number, violation: Violation): void {
    if (!this.#running) {
      this.#violatedEarly ??= { peer, violation };
      return;
    }
    this.#running = false;
    this.port.trouble(peer, this.#generation, 'violation', violation.code, violation.message);
  }

  /** Writes lost slots again, then continues. */
  #start(): void {
    this.#starting = false;
    this.#running = true;
    const violated = this.#violatedEarly;
    const broken = this.#brokenEarly;
    if (violated) this.violated(violated.peer, violated.violation);
    else if (broken) this.broke(broken.peer, this.#generation, broken.reason);
    else this.#writeAgain();
  }

  #post(): void {
    const ending = Atomics.load(this.#words, ChannelWord.ENDING) === 1;
    for (;;) {
      const taken = this.#mayTake() ? this.#takeBatch() : 0;
      this.#followUp(ending, this.#filled.size);
      if (taken === 0) return;
    }
  }

  /** Announcements and READs of P are posted between the batches: behind all of them they would be too late. */
  #followUp(ending: boolean, filled: number): void {
    const isOver = ending && filled === 0;
    const free = this.setup.slots - this.#taken - filled;
    const waiting = Atomics.load(this.#words, ChannelWord.WAITING);
    // Also look for what `tell` waits for; otherwise the application would never be woken.
    const wanted = waiting > 0 && this.#freeSlots() < Math.max(waiting, this.#wakeAt);
    for (const link of this.#links) {
      if (isOver) link.end(this.#sequence);
      link.push();
      link.refresh(free, wanted);
    }
  }

  /** The scheduled look finds what is committed until then, so a kick does not need to end the nap. */
  #spareKicks(): void {
    if (!this.#looksAgain) return;
    for (const link of this.#links) if (link.isResting) return;
    Atomics.store(this.#words, ChannelWord.KICKED, 1);
  }

  #mayTake(): boolean {
    for (const link of this.#links) if (!link.hasRoom) return false;
    return true;
  }

  /** Link by link, so that each queue pair's requests are adjacent. */
  #takeBatch(): number {
    let count = 0;
    let bytes = 0;
    for (; count < BATCH && bytes < this.#batchBytes && this.#filled.next(); count += 1) {
      bytes += this.#filled.b;
      this.#number(count);
    }
    if (count > 0) {
      this.isBulky = bytes >= BATCH_BYTES;
      this.port.worked();
    }
    for (const link of this.#links) {
      for (let i = 0; i < count; i += 1) link.announce(this.#batch[i * 3]!, this.#batch[i * 3 + 2]!);
    }
    for (const link of this.#links) {
      for (let i = 0; i < count; i += 1) {
        this.#write(link, this.#batch[i * 3]!, this.#batch[i * 3 + 1]!, i === count - 1);
      }
    }
    return count;
  }

  #writeAgain(): void {
    for (const link of this.#links) {
      const again = link.takeAgain();
      for (const slot of again) link.announce(slot, link.machine.sequenceOf(slot));
      again.forEach((slot, index) => {
        const at = footerIndex(slot, this.#stride);
        this.#footers[at + FooterWord.GENERATION] = this.#generation;
        this.#write(link, slot, this.#footers[at + FooterWord.LENGTH]!, index === again.length - 1);
      });
    }
  }

  /** Gives a filled slot its footer. */
  #number(index: number): void {
    const { a: slot, b: length, c: remaining } = this.#filled;
    const sequence = this.#sequence;
    this.#sequence = (sequence + 1) | 0;
    const at = footerIndex(slot, this.#stride);
    this.#footers[at + FooterWord.SEQUENCE] = sequence;
    this.#footers[at + FooterWord.LENGTH] = length;
    this.#footers[at + FooterWord.GENERATION] = this.#generation;
    this.#footers[at + FooterWord.REMAINING] = remaining;
    this.#pending[slot] = this.setup.peers;
    this.#taken += 1;
    this.#batch[index * 3] = slot;
    this.#batch[index * 3 + 1] = length;
    this.#batch[index * 3 + 2] = sequence;
    this.#trace?.written(slot, sequence);
    this.#count(length);
  }

  #count(length: number): void {
    const { counters } = this.memory;
    counters[Counter.SLOTS]! += 1;
    counters[Counter.BYTES]! += length;
    for (let peer = 0; peer < this.setup.peers; peer += 1) {
      counters[this.memory.peerCounter(peer, PeerCounter.SLOTS)]! += 1;
    }
  }

  #write(link: OutgoingLink, slot: number, length: number, isLast: boolean): void {
    const offset = payloadOffset(slot, this.#stride, length);
    const end = (slot + 1) * this.#stride;
    link.write(slot, offset, Math.max(FOOTER_BYTES, end - offset), isLast);
  }

  /**
   * Wakes the application if it waits and enough slots are free. If few are free, and the next READ
   * may show more, it waits for that READ: waking a thread costs more than filling many slots.
   */
  #tell(): void {
    this.#free.publish();
    const waiting = Atomics.load(this.#words, ChannelWord.WAITING);
    const free = this.#freeSlots();
    this.#trace?.waits(free < waiting);
    if (waiting === 0 || free < waiting) return;
    if (free < this.#wakeAt && this.#running && !this.#isSettled()) return;
    Atomics.store(this.#words, ChannelWord.WAITING, 0);
    this.memory.counters[Counter.EVENTS]! += 1;
    this.port.wakeApplication();
  }

  #isSettled(): boolean {
    for (const link of this.#links) if (link.isSettled) return true;
    return false;
  }

  /** Slots that the application may reserve. */
  #freeSlots(): number {
    const head = Atomics.load(this.#words, ChannelWord.IN_HEAD);
    return (head - Atomics.load(this.#words, ChannelWord.IN_TAIL)) | 0;
  }
}
