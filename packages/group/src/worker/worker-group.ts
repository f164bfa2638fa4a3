import type { ProtocolContext } from '@rdmc/dataplane';
import {
  attachRegion,
  type CompletionFailure,
  type LocalKey,
  type MemoryRegion,
  remoteKey,
} from '@rdmc/verbs';
import { HEADER_BYTES } from '../constants.js';
import { receiveSlots } from '../group-memory.js';
import { type GroupRecords, type GroupSetup, NO_RKEY, type PairAddress, type Trouble } from '../records.js';
import type { BlockRange } from './block-range.js';
import { type Break, originOf, type RelayingPairs } from './broken-pairs.js';
import { connectOptions } from './connect-options.js';
import type { FirstBuffers } from './first-buffers.js';
import { GroupTrace } from './group-trace.js';
import type { LoopBack } from './loop-back.js';
import { GroupMachine } from './machine.js';
import { MemoryAhead } from './memory-ahead.js';
import { blockPatienceMs, NeighbourWatch, probeLimitMs, type WatchPort } from './neighbour-watch.js';
import { type PairListener, PairQueues, Purpose } from './pair-queues.js';
import type { Plans } from './plans.js';
import type { GroupPort, LoopBackPort, Relay, RelayPort, WriteTarget } from './port.js';
import { setupConfig } from './setup-config.js';
import { type SmallGroup, SmallPath, smallLinks } from './small-path.js';
import { type TableHost, TableSide } from './table-side.js';
import { CopyFailed, RELAYS_BROKEN, troubleOf, troubleOfThrown, troubleOfWrite } from './troubles.js';

/** What a group has of its node. */
export interface GroupShare {
  readonly counters: Float64Array;
  readonly loopBack: LoopBack;
  readonly plans: Plans;
}

/** A group in the worker: the machine's port to the queue pairs, and the dispatch of completions to the machine. */
export class WorkerGroup
  implements GroupPort, RelayPort, LoopBackPort, PairListener, WatchPort, SmallGroup, TableHost, RelayingPairs
{
  readonly machine: GroupMachine;
  /** The small-message path; undefined if the group does not have one. */
  readonly small: SmallPath | undefined;
  /** The table of a group with stable delivery. */
  readonly table: TableSide | undefined;
  /** Whether the group is in the list of groups to advance in this turn. */
  wantsAdvance = false;
  readonly #region: MemoryRegion;
  readonly #loopBack: LoopBack;
  readonly #pairs: (PairQueues | undefined)[];
  readonly #watch: NeighbourWatch;
  readonly #ahead: MemoryAhead | undefined;
  readonly #trace: GroupTrace | undefined;
  #state: 'forming' | 'running' | 'stopped' | 'aborting' = 'forming';
  /** Data requests that have not completed: the neighbours and the device may still access their memory. */
  #outstanding = 0;
  #onDrained: (() => void) | undefined;
  #aborted: Promise<void> | undefined;

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    private readonly setup: GroupSetup,
    share: GroupShare,
    /** Asks for an `advance` in this turn. */
    private readonly wantAdvance: (group: WorkerGroup) => void,
  ) {
    this.#region = attachRegion(context.device, setup.region);
    this.#loopBack = share.loopBack;
    this.#pairs = setup.neighbours.map(() => undefined);
    const { algorithm, neighbours, retryTimeoutMs, slots, table } = setup;
    const limits = { limitMs: probeLimitMs(context, retryTimeoutMs), patienceMs: blockPatienceMs(algorithm) };
    this.#watch = new NeighbourWatch(this, neighbours.length, limits);
    if (smallLinks(setup) > 0) this.small = new SmallPath(context, setup, this, share.counters);
    if (table) this.table = new TableSide(context, table, setup, this);
    if (slots) this.#ahead = new MemoryAhead(context.device, slots, this);
    const peers = neighbours.map((rank) => setup.members[rank]!);
    this.#trace = context.trace && new GroupTrace(context.trace, setup.id, peers);
    this.machine = new GroupMachine(setupConfig(setup, this.#region, share, this, this.#trace), this);
  }

  /** Creates the queue pairs for one neighbour, and posts the receives for its announcements. */
  createPair(pair: number): PairAddress {
    const { receiveWindow, sendWindow, relaysAhead } = this.setup;
    const queues = new PairQueues(this.context, pair, this, receiveWindow, sendWindow + relaysAhead);
    this.#pairs[pair] = queues;
    this.machine.prepare(pair);
    return queues.address;
  }

  connect(pair: number, peer: PairAddress): Promise<string> {
    return this.#pairs[pair]!.connect(peer, connectOptions(this.setup));
  }

  /** Windows and buffers are those that a neighbour can rely on from the first block on: nothing is posted before. */
  start(sendWindow: number, readyWindow: number, buffers: FirstBuffers): void {
    this.machine.start(buffers);
    this.machine.limit(sendWindow, readyWindow);
    this.#state = 'running';
    this.wantAdvance(this);
  }

  /** Whether no completion of this member's own requests can allow progress. */
  get waitsForNeighbours(): boolean {
    if (this.table?.waitsForOwn) return false;
    if (this.#state !== 'running') return this.#outstanding === 0;
    return this.machine.waitsForNeighbours && !this.small?.waitsForOwn;
  }

  /** At the root: queues a message behind the earlier ones. */
  send(message: number, address: number, byteLength: number, lkey: LocalKey, blockBytes: number): void {
    this.#guard(() => this.machine.send(message, address, byteLength, lkey, blockBytes));
    this.wantAdvance(this);
  }

  /** Memory for a message that began: of the application, or a slot of memory ahead. */
  place(message: number, address: number, lkey: LocalKey, rkey: number = NO_RKEY): void {
    // The group has ended, and waits for no further WRITE: nothing may use the memory any more.
    if (this.#state !== 'running') return;
    const writeKey = rkey === NO_RKEY ? undefined : remoteKey(rkey);
    this.#guard(() => this.machine.place(message, address, lkey, writeKey));
    this.wantAdvance(this);
  }

  /** The application does not need a slot of memory ahead any more. */
  releaseSlot(slot: number): void {
    this.#ahead?.release(slot);
  }

  /** Messages do not wait for slots any more. */
  liftSlots(): void {
    this.#ahead?.lift();
  }

  /** Posts the requests that the machine's state allows. */
  advance(): void {
    this.wantsAdvance = false;
    if (this.#state === 'running') this.#guard(this.#advance);
    if (this.#takesEvents) this.small?.advance();
    // Survivors agree after the group has stopped.
    if (this.#state !== 'aborting') this.table?.advance();
  }

  /** Whether a message is under way here, so that this member waits for its neighbours. */
  get isBusy(): boolean {
    if (this.#state !== 'aborting' && this.table?.isBusy) return true;
    return this.#state === 'running' && (this.machine.openMessages > 0 || this.small?.isBusy === true);
  }

  /** Every WATCH_INTERVAL_MS or later, while any group is busy. Returns whether this one needs another look. */
  look(sinceMs: number): boolean {
    const isTableBusy = this.#state !== 'aborting' && this.table?.look(sinceMs) === true;
    if (this.#state !== 'running') return isTableBusy;
    const goesOn = this.#watch.look(this.machine.openMessages > 0, sinceMs);
    return this.small?.look(sinceMs) || goesOn || isTableBusy;
  }

  /**
   * Moves all queue pairs to the error state, waits until all posted requests have completed or are flushed, closes
   * them.
   */
  abort(): Promise<void> {
    this.#aborted ??= this.#abort();
    return this.#aborted;
  }

  async #abort(): Promise<void> {
    this.#state = 'aborting';
    this.#trace?.ended();
    for (const queues of this.#pairs) queues?.modifyToError();
    this.small?.modifyToError();
    this.table?.modifyToError();
    if (this.#outstanding > 0) {
      // Requests that were written in this turn are posted to queue pairs in the error state, and are flushed.
      this.context.wake();
      await new Promise<void>((resolve) => {
        this.#onDrained = resolve;
      });
    }
    const queues = this.#pairs.map((pair) => pair?.close());
    await Promise.all([...queues, this.small?.close(), this.table?.close()]);
    this.machine.end();
  }

  postSend(pair: number, slot: number, block: number, range: BlockRange, wakes: boolean): void {
    this.#outstanding += 1;
    this.#pairs[pair]!.beginSend(slot, block, wakes);
    this.#header(receiveSlots(this.setup) + slot);
    this.#entry(range);
  }

  postRelay({ pair, slot, block, wakes, headerSlot, from, receives }: Relay, range: BlockRange): void {
    this.#outstanding += 1;
    this.#pairs[pair]!.beginSend(slot, block, wakes);
    this.context.submission.waitFor(this.#pairs[from]!.dataNumber, receives);
    this.#header(headerSlot);
    this.#entry(range);
  }

  postReceive(pair: number, slot: number, range: BlockRange): void {
    this.#outstanding += 1;
    this.#pairs[pair]!.beginReceive(slot);
    this.#header(slot);
    this.#entry(range);
  }

  receiveAnnouncement(pair: number): void {
    this.#pairs[pair]!.receiveAnnouncement();
  }

  announce(pair: number, count: number, confirmAs: number): void {
    this.#pairs[pair]!.announce(count, confirmAs);
  }

  copy(toAddress: number, fromAddress: number, byteLength: number): void {
    try {
      this.context.device.copy(toAddress, fromAddress, byteLength);
    } catch (error) {
      throw new CopyFailed((error as Error).message);
    }
  }

  writeFirst(message: number, to: WriteTarget, { address, lkey, byteLength }: BlockRange): void {
    this.#outstanding += 1;
    const done = (failure?: CompletionFailure): void => this.#written(message, failure);
    this.#loopBack.write({ to, fromAddress: address, fromKey: lkey, byteLength, done });
  }

  incoming(message: number, byteLength: number): void {
    if (this.#ahead) this.#ahead.begin(message, byteLength);
    else this.ask(message, byteLength);
  }

  ask(message: number, byteLength: number): void {
    this.context.events.incoming(this.setup.group, message, byteLength);
  }

  finished(message: number): void {
    const stored = this.#ahead?.finish(message);
    if (stored) this.context.events.stored(this.setup.group, message, stored.slot, stored.byteLength);
    else this.context.events.finished(this.setup.group, message);
  }

  received(pair: number, slot: number, immediate: number, bytes: number): void {
    this.#settled();
    if (!this.#runs()) return;
    try {
      this.machine.blockArrived(slot, immediate, bytes);
    } catch (error) {
      this.#threw(pair, error, this.#relays(pair));
    }
  }

  sent(_pair: number, slot: number): void {
    this.#settled();
    if (this.#runs()) this.machine.sendCompleted(slot);
  }

  announced(pair: number, count: number): void {
    if (!this.#runs()) return;
    try {
      this.machine.announced(pair, count);
    } catch (error) {
      this.#threw(pair, error);
    }
  }

  cameFrom(pair: number): number {
    return this.machine.cameFrom(pair);
  }

  probe(pair: number): void {
    this.#pairs[pair]!.probe();
  }

  probed(pair: number): void {
    this.#watch.answered(pair);
  }

  silent(pair: number): void {
    const { retryTimeoutMs } = this.setup;
    const reason = `its device did not answer for ${retryTimeoutMs} ms, and the neighbour's device did not report that`;
    this.#stop({ group: this.setup.group, pair, kind: 'queue-pair', code: 'ERR_RDMC_MEMBER_LOST', reason });
  }

  announcementConfirmed(pair: number, number: number): void {
    if (this.#runs()) this.machine.announcementConfirmed(pair, number);
  }

  failed(pair: number, purpose: number, failure: CompletionFailure): void {
    if (purpose === Purpose.SEND || purpose === Purpose.RECEIVE) this.#settled();
    if (!this.#takesEvents) return;
    const isOwn = purpose !== Purpose.RECEIVE && purpose !== Purpose.ANNOUNCEMENT_RECEIVE;
    const origin = originOf(pair, this);
    if (origin === pair) this.broke(pair, isOwn, failure);
    else this.broke(origin, false, behind(failure));
  }

  advanceSoon(): void {
    this.wantAdvance(this);
  }

  violated(pair: number, reason: string): void {
    this.#stop({ group: this.setup.group, pair, kind: 'protocol', code: 'ERR_RDMC_PROTOCOL', reason });
  }

  broke(pair: number, isOwn: boolean, failure: CompletionFailure): void {
    this.#stop(troubleOf(this.setup.group, pair, isOwn, failure));
  }

  tellTable(): void {
    this.context.events.table(this.setup.group);
  }

  /** Blocks and small messages go on. Each broken link is reported: a group that has stopped needs its table. */
  tableBroke(link: number, isOwn: boolean, failure: CompletionFailure): void {
    if (this.#state === 'aborting') return;
    const { group, neighbours } = this.setup;
    const pair = neighbours.length + smallLinks(this.setup) + link;
    const trouble = troubleOf(group, pair, isOwn, failure);
    if (trouble.pair === -1 && this.#takesEvents) this.#stop(trouble);
    else this.context.events.trouble(trouble);
  }

  /**
   * A neighbour whose queue pair is broken, and with it that of `pair`: the device breaks a queue pair with a relay that waits
   * for blocks of a broken one. Undefined: the queue pair of `pair` works.
   */
  brokenBehind(pair: number): number | undefined {
    if (this.#state === 'aborting' || !this.#pairs[pair] || this.breakOf(pair) === 'none') return undefined;
    return originOf(pair, this);
  }

  breakOf(pair: number): Break {
    return this.#pairs[pair]!.breaks;
  }

  sourcesOf(pair: number): readonly number[] {
    return this.machine.relaySources(pair);
  }

  readonly #advance = (): void => this.machine.advance();

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#threw(-1, error);
    }
  }

  #header(slot: number): void {
    this.context.submission.sge(this.#region.address + slot * HEADER_BYTES, HEADER_BYTES, this.#region.lkey);
  }

  #entry({ address, byteLength, lkey }: BlockRange): void {
    if (byteLength > 0) this.context.submission.sge(address, byteLength, lkey);
  }

  /** Whether completions still count. If so, schedules an advance. */
  #runs(): boolean {
    if (this.#state === 'running') this.wantAdvance(this);
    return this.#takesEvents;
  }

  /** Announcements and small messages of members that started before this one count as well. */
  get #takesEvents(): boolean {
    return this.#state === 'running' || this.#state === 'forming';
  }

  #settled(): void {
    this.#outstanding -= 1;
    if (this.#outstanding === 0) this.#onDrained?.();
  }

  /** The loop-back WRITE of a message's first block has ended. */
  #written(message: number, failure: CompletionFailure | undefined): void {
    this.#settled();
    if (failure) this.#stop(troubleOfWrite(this.setup.group, failure));
    else if (this.#runs()) this.machine.written(message);
  }

  /** Whether the device of that neighbour sends blocks on before its worker has checked them. The root has all blocks. */
  #relays(pair: number): boolean {
    const { relaysAhead, neighbours } = this.setup;
    return relaysAhead > 0 && neighbours[pair] !== 0;
  }

  /** Stops the group: the neighbour broke the protocol, or this member failed. */
  #threw(pair: number, error: unknown, isRelayed = false): void {
    this.#stop(troubleOfThrown(this.setup.group, pair, error, isRelayed));
  }

  /** Stops posting. The application's thread decides how the group ends. */
  #stop(trouble: Trouble): void {
    if (this.#state === 'stopped' || this.#state === 'aborting') return;
    this.#state = 'stopped';
    this.#trace?.ended();
    this.context.events.trouble(trouble);
  }
}

/** The failure of the queue pair whose blocks were to be relayed. A removed device breaks all of them. */
function behind(failure: CompletionFailure): CompletionFailure {
  if (failure.status === 'FATAL') return failure;
  return { status: 'GENERAL_ERROR', refusal: undefined, reason: RELAYS_BROKEN };
}
