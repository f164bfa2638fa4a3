import type { ProtocolContext } from '@rdmc/dataplane';
import { attachRegion, type MemoryRegion } from '@rdmc/verbs';
import { BATCH_BYTES } from '../constants.js';
import { ChannelMemory, ChannelWord, Counter, END_OF_PEER, PeerCounter } from '../layout/channel-memory.js';
import type { EntryReader, EntryWriter } from '../layout/entry-ring.js';
import type { Violation } from '../machine/violation.js';
import type { ChannelSetup, ConnectOrder, HiPowerRecords, PairAnswer } from '../records.js';
import { ChannelTrace } from './channel-trace.js';
import { IdlePace } from './idle-pace.js';
import { type IncomingHost, IncomingLink } from './incoming-link.js';
import type { ChannelPort, WorkerChannel } from './worker-channel.js';

/** A responder waits for none of them. */
const NO_LINKS: readonly IncomingLink[] = [];

/** The worker's side of a responder: delivers what its requesters wrote, in the order of each, to the application. */
export class ResponderChannel implements WorkerChannel, IncomingHost {
  touched = false;
  isBulky = false;
  /** Delivered since the last turn. */
  #bytes = 0;
  readonly memory: ChannelMemory;
  readonly pool: MemoryRegion;
  readonly boards: MemoryRegion;
  readonly #links: IncomingLink[];
  readonly #words: Int32Array;
  readonly #released: EntryReader;
  readonly #arrived: EntryWriter;
  readonly #perRequest: boolean;
  readonly #trace: ChannelTrace | undefined;
  /** It looks by READs. */
  readonly #reads: boolean;

  constructor(
    readonly context: ProtocolContext<HiPowerRecords>,
    readonly setup: ChannelSetup,
    private readonly port: ChannelPort,
  ) {
    const { device } = context;
    const slots = setup.slots * setup.peers;
    this.memory = new ChannelMemory(attachRegion(device, setup.memory).view(), slots, setup.peers);
    this.pool = attachRegion(device, setup.pool);
    this.boards = attachRegion(device, setup.boards);
    this.#words = this.memory.words;
    this.#released = this.memory.outwardReader();
    this.#arrived = this.memory.inwardWriter();
    this.#perRequest = setup.confirmation === 'per-request';
    this.#reads = !this.#perRequest && setup.mode === 'pull';
    this.#trace = context.trace && new ChannelTrace(context.trace, setup);
    this.#links = Array.from({ length: setup.peers }, (_, peer) => new IncomingLink(this, peer));
  }

  /** This side does not wait for completions of its own requests. */
  get waitsForSolicited(): boolean {
    for (const link of this.#links) if (!link.waitsForSolicited) return false;
    return true;
  }

  createPair(peer: number, generation: number): PairAnswer {
    return this.#links[peer]!.createPair(generation);
  }

  async connect(order: ConnectOrder): Promise<string> {
    const transport = await this.#links[order.peer]!.connect(order);
    this.wake();
    return transport;
  }

  /** Has no effect: a responder leaves when it has everything. */
  dismiss(): void {}

  /** A link runs as soon as it is connected. */
  start(): void {
    this.wake();
  }

  advance(): void {
    Atomics.store(this.#words, ChannelWord.KICKED, 0);
    if (this.#perRequest) this.#confirm();
    const wanted = this.#reads && this.#wantsMore();
    for (const link of this.#links) link.look(wanted);
    this.#weigh();
    this.#tell();
    this.#trace?.awaits(this.#unread() > 0 ? NO_LINKS : this.#links);
  }

  kick(): void {
    for (const link of this.#links) link.interrupt();
  }

  close(): void {
    this.#trace?.awaits(NO_LINKS);
    for (const link of this.#links) link.close();
  }

  createPace(): IdlePace {
    const { spinMs, maxIdleMs, mode } = this.setup;
    return new IdlePace(spinMs, maxIdleMs, mode === 'pull', this.memory.counters, () =>
      this.port.lookAgain(),
    );
  }

  touch(): void {
    this.port.touch();
  }

  wake(): void {
    this.port.touch();
    this.context.wake();
  }

  delivered(peer: number, slot: number, byteLength: number, remainingBytes: number): void {
    this.#trace?.delivered(slot, peer);
    const { counters } = this.memory;
    counters[Counter.SLOTS]! += 1;
    counters[Counter.BYTES]! += byteLength;
    this.#bytes += byteLength;
    counters[this.memory.peerCounter(peer, PeerCounter.SLOTS)]! += 1;
    this.#arrived.append(peer, slot, byteLength, remainingBytes);
  }

  finished(peer: number): void {
    this.#arrived.append(peer, END_OF_PEER, 0, 0);
    this.touch();
  }

  /** Delivers what arrived before it reports the event. */
  broke(peer: number, generation: number, reason: string): void {
    this.#arrived.publish();
    this.port.trouble(peer, generation, 'connection', 'ERR_RDMC_HIPOWER_CONNECTION_LOST', reason);
  }

  violated(peer: number, generation: number, violation: Violation): void {
    this.#arrived.publish();
    this.port.trouble(peer, generation, 'violation', violation.code, violation.message);
  }

  /** Entries that the application has not read. */
  #unread(): number {
    const head = Atomics.load(this.#words, ChannelWord.IN_HEAD);
    return (head - Atomics.load(this.#words, ChannelWord.IN_TAIL)) | 0;
  }

  /** While enough slots are unread, an early READ would only find fewer; the application kicks when few are unread. */
  #wantsMore(): boolean {
    if (this.#unread() <= this.setup.refreshLimit) return true;
    Atomics.store(this.#words, ChannelWord.WANTS_KICK, 1);
    return this.#unread() <= this.setup.refreshLimit;
  }

  #confirm(): void {
    const { counters } = this.memory;
    while (this.#released.next()) {
      counters[Counter.CONFIRMATIONS]! += 1;
      this.#links[this.#released.a]!.confirm(this.#released.b);
    }
  }

  #weigh(): void {
    if (this.#bytes > 0) this.isBulky = this.#bytes >= BATCH_BYTES;
    this.#bytes = 0;
  }

  /** Wakes the application if it waits and there is something to read. */
  #tell(): void {
    this.#arrived.publish();
    const waiting = Atomics.load(this.#words, ChannelWord.WAITING);
    if (waiting === 0 || this.#unread() < waiting) return;
    Atomics.store(this.#words, ChannelWord.WAITING, 0);
    this.memory.counters[Counter.EVENTS]! += 1;
    this.port.wakeApplication();
  }
}
