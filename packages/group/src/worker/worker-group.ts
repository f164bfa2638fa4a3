import type { ProtocolContext } from '@rdmc/dataplane';
import { attachRegion, type CompletionFailure, type LocalKey, type MemoryRegion } from '@rdmc/verbs';
import { HEADER_BYTES } from '../constants.js';
import { buffersOffset } from '../group-memory.js';
import {
  DEVICE_REMOVED,
  type GroupRecords,
  type GroupSetup,
  type PairAddress,
  type Trouble,
} from '../records.js';
import type { BlockRange } from './block-range.js';
import { connectOptions } from './connect-options.js';
import { GroupMachine } from './machine.js';
import { MemoryAhead } from './memory-ahead.js';
import { limitLooks, NeighbourWatch, type WatchPort } from './neighbour-watch.js';
import { type PairListener, PairQueues, Purpose } from './pair-queues.js';
import { type GroupPort, ProtocolViolation } from './port.js';
import { type SmallGroup, SmallPath } from './small-path.js';

/** A group in the worker: the machine's port to the queue pairs, and the dispatch of completions to the machine. */
export class WorkerGroup implements GroupPort, PairListener, WatchPort, SmallGroup {
  readonly machine: GroupMachine;
  /** The small-message path; undefined if the group does not have one. */
  readonly small: SmallPath | undefined;
  /** Whether the group is in the list of groups to advance in this turn. */
  wantsAdvance = false;
  readonly #region: MemoryRegion;
  readonly #pairs: (PairQueues | undefined)[];
  readonly #watch: NeighbourWatch;
  readonly #ahead: MemoryAhead | undefined;
  #state: 'forming' | 'running' | 'stopped' | 'aborting' = 'forming';
  /** Data requests that have not completed: the neighbours and the device may still access their memory. */
  #outstanding = 0;
  #onDrained: (() => void) | undefined;
  #aborted: Promise<void> | undefined;

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    private readonly setup: GroupSetup,
    counters: Float64Array,
    /** Asks for an `advance` in this turn. */
    private readonly wantAdvance: (group: WorkerGroup) => void,
  ) {
    this.#region = attachRegion(context.device, setup.region);
    this.#pairs = setup.neighbours.map(() => undefined);
    const { neighbours, firstPair, receiveWindow, sendWindow, maxBlockBytes, retryTimeoutMs } = setup;
    const { algorithm, nodes, rank, racks, slots, small } = setup;
    this.#watch = new NeighbourWatch(this, neighbours.length, limitLooks(context, retryTimeoutMs));
    if (small) this.small = new SmallPath(context, setup, small, this, counters);
    if (slots) this.#ahead = new MemoryAhead(context.device, slots, this);
    const headerBytes = (receiveWindow + sendWindow) * HEADER_BYTES;
    const headers = this.#region.view(0, headerBytes);
    this.machine = new GroupMachine(
      {
        topology: { algorithm, nodes, rank, racks },
        neighbours,
        firstPair,
        receiveWindow,
        sendWindow,
        maxBlockBytes,
        skipsNumbers: small !== null,
        buffersAddress: this.#region.address + buffersOffset(setup),
        buffersLkey: this.#region.lkey,
        headers: new Uint32Array(headers.buffer, headers.byteOffset, headerBytes / 4),
        counters,
      },
      this,
    );
  }

  /** Creates the queue pairs for one neighbour, and posts the receives for its announcements. */
  createPair(pair: number): PairAddress {
    const { receiveWindow, sendWindow } = this.setup;
    const queues = new PairQueues(this.context, pair, this, receiveWindow, sendWindow);
    this.#pairs[pair] = queues;
    this.machine.prepare(pair);
    return queues.address;
  }

  connect(pair: number, peer: PairAddress): Promise<string> {
    return this.#pairs[pair]!.connect(peer, connectOptions(this.setup));
  }

  start(): void {
    this.#state = 'running';
    this.wantAdvance(this);
  }

  /** Whether no completion of this member's own requests can allow progress. */
  get waitsForNeighbours(): boolean {
    if (this.#state !== 'running') return this.#outstanding === 0;
    return this.machine.waitsForNeighbours && !this.small?.waitsForOwn;
  }

  /** At the root: queues a message behind the earlier ones. */
  send(message: number, address: number, byteLength: number, lkey: LocalKey, blockBytes: number): void {
    this.#guard(() => this.machine.send(message, address, byteLength, lkey, blockBytes));
    this.wantAdvance(this);
  }

  /** Memory for a message that began: of the application, or a slot of memory ahead. */
  place(message: number, address: number, lkey: LocalKey): void {
    this.#guard(() => this.machine.place(message, address, lkey));
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
  }

  /** Whether a message is under way here, so that this member waits for its neighbours. */
  get isBusy(): boolean {
    return this.#state === 'running' && (this.machine.openMessages > 0 || this.small?.isBusy === true);
  }

  /** Every WATCH_INTERVAL_MS while any group is busy. Returns whether this one needs another look. */
  look(): boolean {
    if (this.#state !== 'running') return false;
    const goesOn = this.#watch.look(this.machine.openMessages > 0);
    return this.small?.look() || goesOn;
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
    for (const queues of this.#pairs) queues?.modifyToError();
    this.small?.modifyToError();
    if (this.#outstanding > 0) {
      // Requests that were written in this turn are posted to queue pairs in the error state, and are flushed.
      this.context.wake();
      await new Promise<void>((resolve) => {
        this.#onDrained = resolve;
      });
    }
    await Promise.all([...this.#pairs.map((queues) => queues?.close()), this.small?.close()]);
  }

  postSend(pair: number, slot: number, block: number, range: BlockRange): void {
    this.#outstanding += 1;
    this.#pairs[pair]!.beginSend(slot, block);
    this.#header(this.setup.receiveWindow + slot);
    const { address, byteLength, lkey } = range;
    if (byteLength > 0) this.context.submission.sge(address, byteLength, lkey);
  }

  postReceive(pair: number, slot: number, range: BlockRange): void {
    this.#outstanding += 1;
    this.#pairs[pair]!.beginReceive(slot);
    this.#header(slot);
    const { address, byteLength, lkey } = range;
    if (byteLength > 0) this.context.submission.sge(address, byteLength, lkey);
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
      this.#threw(pair, error);
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
    this.#stop(pair, 'queue-pair', 'ERR_RDMC_MEMBER_LOST', reason);
  }

  announcementConfirmed(pair: number, number: number): void {
    if (this.#runs()) this.machine.announcementConfirmed(pair, number);
  }

  failed(pair: number, purpose: number, failure: CompletionFailure): void {
    if (purpose === Purpose.SEND || purpose === Purpose.RECEIVE) this.#settled();
    const isOwn = purpose !== Purpose.RECEIVE && purpose !== Purpose.ANNOUNCEMENT_RECEIVE;
    this.broke(pair, isOwn, failure);
  }

  advanceSoon(): void {
    this.wantAdvance(this);
  }

  violated(pair: number, reason: string): void {
    this.#stop(pair, 'protocol', 'ERR_RDMC_PROTOCOL', reason);
  }

  broke(pair: number, isOwn: boolean, { status, refusal, reason }: CompletionFailure): void {
    // In the first two cases this member failed: its device was removed, or refused a request.
    if (status === 'FATAL') this.#stop(-1, 'device', DEVICE_REMOVED.code, DEVICE_REMOVED.reason);
    else if (refusal) this.#stop(-1, 'post', refusal.code, reason);
    else this.#stop(pair, kindOf(isOwn, status), 'ERR_RDMC_MEMBER_LOST', reason);
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

  /** Stops the group: the neighbour broke the protocol, or this member failed. */
  #threw(pair: number, error: unknown): void {
    if (error instanceof ProtocolViolation) this.#stop(pair, 'protocol', 'ERR_RDMC_PROTOCOL', error.message);
    else if (error instanceof CopyFailed) this.#stop(-1, 'copy', 'ERR_RDMC_INCOMING_FAILED', error.message);
    else this.#stop(-1, 'post', 'ERR_RDMC_POST_FAILED', (error as Error).message);
  }

  /** Stops posting. The application's thread decides how the group ends. */
  #stop(pair: number, kind: Trouble['kind'], code: string, reason: string): void {
    if (this.#state === 'stopped' || this.#state === 'aborting') return;
    this.#state = 'stopped';
    const trouble: Trouble = { group: this.setup.group, pair, kind, code, reason };
    this.context.events.trouble(trouble);
  }
}

/**
 * The first block of a message could not be copied to its place, for example into memory that only a device can access.
 */
class CopyFailed extends Error {}

/** If the local device could not send a request, this member failed and not the neighbour. */
function kindOf(isOwn: boolean, status: string): Trouble['kind'] {
  if (status === 'WORK_REQUEST_FLUSHED') return 'flushed';
  return isOwn && status === 'LOCAL_QP_OPERATION_ERROR' ? 'own' : 'queue-pair';
}
