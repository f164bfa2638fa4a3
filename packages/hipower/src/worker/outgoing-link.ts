import type { ProtocolContext } from '@rdmc/dataplane';
import { type MemoryRegion, Opcode, type QueuePairAddress, remoteKey, WorkRequestFlag } from '@rdmc/verbs';
import { EXTRA_SEND_DEPTH, MAX_PUSHES } from '../constants.js';
import { BOARD_HEADER_WORDS, BOARD_STRIDE, BoardWord, boardBytes, writeEnd } from '../layout/board.js';
import { BoardIndex, type BoardView, boardsOffset, boardView } from '../layout/boards-region.js';
import { type ChannelMemory, Counter, PeerCounter } from '../layout/channel-memory.js';
import { wordsFor } from '../machine/bits.js';
import { type FreeSlots, RequesterMachine } from '../machine/requester-machine.js';
import { Violation } from '../machine/violation.js';
import type { Account, ChannelSetup, ConnectOrder, HiPowerRecords, RemoteMemory } from '../records.js';
import { ClosedError } from './closed-error.js';
import { Connection, type ConnectionListener, fullCount, Purpose } from './connection.js';
import type { IdlePace } from './idle-pace.js';
import { Snapshots } from './snapshots.js';

/** Immediate of a WRITE that carries the end flag instead of a slot (confirmation per work request). */
export const END_IMMEDIATE = -1;
const NO_MEMORY: RemoteMemory = {
  poolAddress: 0,
  poolRkey: remoteKey(0),
  boardsAddress: 0,
  boardsRkey: remoteKey(0),
};

/** The parts of its channel that a link uses. */
export interface OutgoingHost {
  readonly context: ProtocolContext<HiPowerRecords>;
  readonly setup: ChannelSetup;
  readonly memory: ChannelMemory;
  readonly pool: MemoryRegion;
  readonly boards: MemoryRegion;
  createPace(): IdlePace;
  /** The responder has released a slot. */
  freed(slot: number, peer: number): void;
  /** The link may be able to continue now. */
  touch(): void;
  broke(peer: number, generation: number, reason: string): void;
  violated(peer: number, violation: Violation): void;
}

/** The requester's link to one responder. */
export class OutgoingLink implements ConnectionListener, FreeSlots {
  readonly machine: RequesterMachine;
  readonly #own: BoardView;
  readonly #landingAddress: number;
  readonly #boardBytes: number;
  readonly #pace: IdlePace;
  readonly #snapshots: Snapshots;
  readonly #pushes: boolean;
  readonly #perRequest: boolean;
  /** A push follows the writes that it announces at once, and its completion implies theirs. */
  readonly #pushesBehind: boolean;
  #connection: Connection | undefined;
  #remote = NO_MEMORY;
  #again: number[] = [];
  #pushesUnderWay = 0;
  /** Batches of writes without a completion, of the writes or of their push. */
  #batchesUnderWay = 0;
  /** Toggled bits that were not pushed yet. */
  #unpushed = false;
  #ended = false;
  #generation = 0;
  #dismissed = false;
  readonly #maxPushes: number;
  #freedByRead = 0;
  /** The last READ of P was fruitless. */
  #isFruitless = false;
  readonly #releasedCounter: number;

  constructor(
    private readonly host: OutgoingHost,
    private readonly peer: number,
  ) {
    const { setup, boards, memory } = host;
    const offset = boardsOffset('requester', peer);
    const view = boards.view();
    const at = (index: number): number => offset + index * BOARD_STRIDE;
    this.#boardBytes = boardBytes(setup.slots);
    this.#own = boardView(view, at(BoardIndex.OWN), this.#boardBytes);
    this.#landingAddress = boards.address + at(BoardIndex.LANDING);
    const landing = boardView(view, at(BoardIndex.LANDING), this.#boardBytes);
    this.#perRequest = setup.confirmation === 'per-request';
    this.#pushes = !this.#perRequest && setup.mode === 'push';
    this.#pushesBehind = this.#pushes && !setup.pushAfterCompletion;
    this.#maxPushes = this.#pushesBehind ? MAX_PUSHES : 1;
    this.#snapshots = new Snapshots(boards, offset, this.#own.bytes);
    this.machine = new RequesterMachine(
      {
        slots: setup.slots,
        announced: this.#own.bits,
        landing: landing.bits,
        // An immediate announces its own write, and a push announces the writes that it is queued behind, if the device places
        // writes in that order. Otherwise, a board that is read or pushed has completed writes only.
        announceAt: this.#perRequest || this.#pushesBehind ? 'posting' : 'completion',
      },
      this,
    );
    this.#pace = host.createPace();
    this.#releasedCounter = memory.peerCounter(peer, PeerCounter.RELEASED);
  }

  /** Its responder has everything. */
  get dismissed(): boolean {
    return this.#dismissed;
  }

  createPair(generation: number): QueuePairAddress {
    this.close();
    this.#generation = generation;
    const { slots } = this.host.setup;
    // If the responder never sends, one receive detects the end of the connection: it is flushed.
    const receives = this.#perRequest ? slots : 1;
    this.#connection = new Connection(this.host.context, this, slots + EXTRA_SEND_DEPTH, receives);
    this.#connection.prepare(receives);
    return this.#connection.address;
  }

  /** Resumes from the responder's account, then connects: from then on the responder may read R. @throws Violation */
  async connect(order: ConnectOrder): Promise<string> {
    const connection = this.#connection;
    if (!connection) throw new ClosedError('the connection was closed before it was complete');
    this.#resume(order.account!);
    this.#remote = order.remote;
    return connection.connect(order.address, this.host.setup.retryTimeoutMs);
  }

  /** Continues without the responder: it has everything, so every slot is free for this link. */
  dismiss(): void {
    this.close();
    this.#dismissed = true;
    this.#again = [];
    this.machine.dismiss();
  }

  /** This side does not wait for completions of its own requests. The responder's sends are solicited. */
  get waitsForSolicited(): boolean {
    if (!this.#connection) return true;
    return !(this.machine.writing || this.machine.reading || this.#pushesUnderWay > 0);
  }

  /** More may be written now: with enough outstanding batches, further requests would only delay READs. */
  get hasRoom(): boolean {
    return this.#perRequest || this.#batchesUnderWay < MAX_PUSHES;
  }

  /** Only a timer or the application makes it look again. */
  get isResting(): boolean {
    return this.#pace.isResting;
  }

  /** No slot will come back soon: all are free, or the last look was fruitless. */
  get isSettled(): boolean {
    return this.#perRequest || this.#dismissed || this.#isFruitless || !this.machine.hasFull;
  }

  /** Slots to write again in this generation; empties the list. */
  takeAgain(): number[] {
    const again = this.#again;
    this.#again = [];
    return again;
  }

  /**
   * Counts a slot as posted, before the batch is written. The batch's last request is signalled for all. If the
   * device refuses one in the middle, the requests behind it fail with it, and the next generation writes them again.
   */
  announce(slot: number, sequence: number): void {
    if (this.#dismissed) this.freed(slot);
    else this.machine.posted(slot, sequence);
  }

  /** Writes one slot that was announced; `isLast`: it is the last one of its batch. */
  write(slot: number, offset: number, byteLength: number, isLast: boolean): void {
    if (this.#dismissed) return;
    const { context, pool } = this.host;
    const { submission } = context;
    const signal = isLast && !this.#pushesBehind ? WorkRequestFlag.SIGNALED : 0;
    const { postedCount } = this.machine;
    if (this.#perRequest) {
      this.#begin(Opcode.WRITE_WITH_IMM, Purpose.WRITE, postedCount, signal | WorkRequestFlag.SOLICITED);
    } else {
      this.#begin(Opcode.WRITE, Purpose.WRITE, postedCount, signal);
    }
    submission.sge(pool.address + offset, byteLength, pool.lkey);
    submission.remote(this.#remote.poolAddress + offset, this.#remote.poolRkey);
    if (this.#perRequest) submission.immediate(slot);
    if (this.#pushesBehind) this.#unpushed = true;
    else if (isLast) this.#batchesUnderWay += 1;
  }

  /** After the writes of a turn: pushes their bits. */
  push(): void {
    if (!this.#pushes || !this.#unpushed || this.#pushesUnderWay === this.#maxPushes) return;
    const { submission } = this.host.context;
    this.#unpushed = false;
    this.#pushesUnderWay += 1;
    if (this.#pushesBehind) this.#batchesUnderWay += 1;
    this.#begin(Opcode.WRITE, Purpose.PUSH, this.machine.postedCount, WorkRequestFlag.SIGNALED);
    this.#snapshots.addTo(submission);
    submission.remote(this.#remote.boardsAddress + BOARD_STRIDE, this.#remote.boardsRkey);
    this.host.memory.counters[Counter.PUSHES]! += 1;
  }

  /** Reads P when few slots are free, or when the application waits for all; never two READs at once. */
  refresh(free: number, wanted: boolean): void {
    if (this.#perRequest || this.#dismissed || !(wanted || free <= this.host.setup.refreshLimit)) return;
    if (!this.machine.hasFull || !this.#pace.isDue() || !this.machine.beginRead()) return;
    const { submission } = this.host.context;
    this.#freedByRead = 0;
    this.#begin(Opcode.READ, Purpose.READ, 0, WorkRequestFlag.SIGNALED);
    submission.sge(this.#landingAddress, this.#boardBytes, this.host.boards.lkey);
    submission.remote(this.#remote.boardsAddress, this.#remote.boardsRkey);
    this.host.memory.counters[Counter.READS]! += 1;
  }

  /** Announces that no slot follows after `total`, after all are written. */
  end(total: number): void {
    if (this.#ended || this.#dismissed || this.machine.writing) return;
    this.#ended = true;
    writeEnd(this.#own.header, total);
    this.#unpushed = true;
    if (!this.#perRequest) return;
    const { submission } = this.host.context;
    const flags = WorkRequestFlag.SIGNALED | WorkRequestFlag.SOLICITED;
    this.#begin(Opcode.WRITE_WITH_IMM, Purpose.END, 0, flags);
    submission.inline(this.#own.bytes.subarray(0, BOARD_HEADER_WORDS * 4));
    submission.remote(this.#remote.boardsAddress + BOARD_STRIDE, this.#remote.boardsRkey);
    submission.immediate(END_IMMEDIATE);
  }

  completed(purpose: number, count: number, immediate: number): void {
    try {
      if (this.#take(purpose, count, immediate)) this.host.touch();
    } catch (error) {
      if (error instanceof Violation) this.host.violated(this.peer, error);
      else throw error;
    }
  }

  failed(reason: string): void {
    this.host.broke(this.peer, this.#generation, reason);
  }

  freed(slot: number): void {
    this.#freedByRead += 1;
    this.host.memory.counters[this.#releasedCounter]! += 1;
    this.host.freed(slot, this.peer);
  }

  /** The application needs something: ends the pause. */
  interrupt(): void {
    this.#pace.interrupt();
  }

  /** A barrier. Outstanding slots are LOST. */
  close(): void {
    this.#pace.interrupt();
    this.#connection?.close();
    this.#connection = undefined;
    this.#unpushed = false;
    this.machine.broke();
  }

  #begin(opcode: number, purpose: number, count: number, flags: number): void {
    this.#connection!.begin(opcode, purpose, count, flags);
  }

  /** Whether it changed anything. */
  #take(purpose: number, count: number, immediate: number): boolean {
    const { machine } = this;
    if (purpose === Purpose.WRITE || purpose === Purpose.PUSH) {
      if (purpose === Purpose.PUSH) this.#pushesUnderWay -= 1;
      if ((purpose === Purpose.PUSH) === this.#pushesBehind) this.#batchesUnderWay -= 1;
      const upTo = fullCount(count, machine.completedCount);
      if (!this.#pushesBehind && upTo !== machine.completedCount) this.#unpushed = true;
      machine.completed(upTo);
      machine.collect();
    } else if (purpose === Purpose.READ) {
      machine.readReturned();
      this.#isFruitless = this.#freedByRead === 0;
      if (!this.#isFruitless) {
        this.#pace.found();
      } else {
        this.host.memory.counters[Counter.FRUITLESS_READS]! += 1;
        this.#pace.foundNothing();
        return false;
      }
    } else if (purpose === Purpose.RECEIVE) {
      if (!this.#perRequest)
        throw new Violation('ERR_RDMC_HIPOWER_PROTOCOL', 'the responder sent an unexpected message');
      this.#connection!.postReceive();
      this.host.memory.counters[Counter.CONFIRMATIONS]! += 1;
      machine.recycled(immediate);
    }
    return true;
  }

  #resume({ claimed, released, next }: Account): void {
    const words = wordsFor(this.host.setup.slots);
    this.#own.bytes.fill(0);
    this.#again = this.machine.resume(bitmap(claimed, words), bitmap(released, words), next);
    this.#own.header[BoardWord.GENERATION] = this.#generation;
    this.#pushesUnderWay = 0;
    this.#batchesUnderWay = 0;
    this.#unpushed = false;
    this.#ended = false;
    this.#pace.found();
  }
}

function bitmap(given: readonly number[], words: number): Int32Array {
  const bits = new Int32Array(words);
  bits.set(given.slice(0, words));
  return bits;
}
