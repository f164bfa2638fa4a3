import type { ProtocolContext } from '@rdmc/dataplane';
import { type MemoryRegion, Opcode, type QueuePairAddress, remoteKey, WorkRequestFlag } from '@rdmc/verbs';
import { EXTRA_SEND_DEPTH } from '../constants.js';
import { BOARD_STRIDE, BoardWord, boardBytes, saysEnd } from '../layout/board.js';
import { BoardIndex, type BoardView, boardsOffset, boardView } from '../layout/boards-region.js';
import { type ChannelMemory, Counter } from '../layout/channel-memory.js';
import { slotStride } from '../layout/footer.js';
import { wordsFor } from '../machine/bits.js';
import { type Deliveries, ResponderMachine } from '../machine/responder-machine.js';
import { Violation } from '../machine/violation.js';
import type { Account, ChannelSetup, ConnectOrder, HiPowerRecords } from '../records.js';
import { ClosedError } from './closed-error.js';
import { Confirmations } from './confirmations.js';
import { Connection, type ConnectionListener, Purpose } from './connection.js';
import type { IdlePace } from './idle-pace.js';
import { END_IMMEDIATE } from './outgoing-link.js';

/** The parts of its channel that a link uses. */
export interface IncomingHost {
  readonly context: ProtocolContext<HiPowerRecords>;
  readonly setup: ChannelSetup;
  readonly memory: ChannelMemory;
  readonly pool: MemoryRegion;
  readonly boards: MemoryRegion;
  createPace(): IdlePace;
  touch(): void;
  delivered(peer: number, slot: number, byteLength: number, remainingBytes: number): void;
  /** The requester has ended, and everything has arrived. */
  finished(peer: number): void;
  broke(peer: number, generation: number, reason: string): void;
  violated(peer: number, generation: number, violation: Violation): void;
}

/** The responder's link to one requester. */
export class IncomingLink implements ConnectionListener, Deliveries {
  readonly machine: ResponderMachine;
  readonly #own: BoardView;
  readonly #landing: BoardView;
  readonly #landingAddress: number;
  readonly #boardBytes: number;
  readonly #pace: IdlePace;
  readonly #pushes: boolean;
  readonly #perRequest: boolean;
  readonly #confirmations: Confirmations;
  #connection: Connection | undefined;
  #remoteBoard = 0;
  #remoteRkey = remoteKey(0);
  #state: 'closed' | 'connecting' | 'running' | 'stopped' = 'closed';
  #finished = false;

  constructor(
    private readonly host: IncomingHost,
    private readonly peer: number,
  ) {
    const { setup, boards, pool } = host;
    const offset = boardsOffset('responder', peer);
    this.#boardBytes = boardBytes(setup.slots);
    this.#own = boardView(boards.view(), offset + BoardIndex.OWN * BOARD_STRIDE, this.#boardBytes);
    this.#landing = boardView(boards.view(), offset + BoardIndex.LANDING * BOARD_STRIDE, this.#boardBytes);
    this.#landingAddress = boards.address + offset + BoardIndex.LANDING * BOARD_STRIDE;
    this.#perRequest = setup.confirmation === 'per-request';
    this.#pushes = !this.#perRequest && setup.mode === 'push';
    this.#confirmations = new Confirmations(host.context, setup.slots);
    const stride = slotStride(setup.slotBytes);
    const view = pool.view(peer * setup.slots * stride, setup.slots * stride);
    this.machine = new ResponderMachine(
      {
        slots: setup.slots,
        stride,
        slotBytes: setup.slotBytes,
        pool: new Int32Array(view.buffer, view.byteOffset, view.byteLength / 4),
        landing: this.#landing.bits,
        released: this.#own.bits,
      },
      this,
    );
    this.#pace = host.createPace();
  }

  get running(): boolean {
    return this.#state === 'running';
  }

  get finished(): boolean {
    return this.#finished;
  }

  /** This side does not wait for completions of its own requests. The requester's sends are solicited. */
  get waitsForSolicited(): boolean {
    return this.#state !== 'running' || !(this.machine.reading || this.#confirmations.isFull);
  }

  /** Ends the old connection, if there was one, and starts a generation; returns the account for the requester. */
  createPair(generation: number): { address: QueuePairAddress; account: Account } {
    this.close();
    this.#landing.header.fill(0);
    this.machine.restart(generation);
    this.#own.header[BoardWord.GENERATION] = generation;
    const { slots } = this.host.setup;
    const receives = this.#perRequest ? slots + 1 : 1;
    this.#connection = new Connection(this.host.context, this, slots + EXTRA_SEND_DEPTH, receives);
    // If the requester never sends, one receive detects the end of the connection: it is flushed.
    this.#connection.prepare(receives);
    this.#state = 'connecting';
    return { address: this.#connection.address, account: this.#account() };
  }

  async connect({ address, remote }: ConnectOrder): Promise<string> {
    const connection = this.#connection;
    if (!connection) throw new ClosedError('the connection was closed before it was complete');
    this.#remoteBoard = remote.boardsAddress;
    this.#remoteRkey = remote.boardsRkey;
    const transport = await connection.connect(address, this.host.setup.retryTimeoutMs);
    if (this.#connection === connection && this.#state === 'connecting') this.#state = 'running';
    this.#pace.found();
    return transport;
  }

  /** Looks for new slots. `wanted`: the application has few unread slots. */
  look(wanted: boolean): void {
    if (this.#state !== 'running') return;
    this.#confirmations.flush(this.#connection!);
    if (this.#perRequest || this.#finished) return;
    if (this.#pushes ? this.#pace.isDue() : wanted && this.#pace.isDue()) this.#look();
  }

  /** The application released a slot (confirmation per work request). */
  confirm(slot: number): void {
    if (this.#state === 'running') this.#confirmations.confirm(slot, this.#connection!);
    else if (this.#state === 'connecting') this.#confirmations.keep(slot);
    else this.#confirmations.record(slot);
  }

  completed(purpose: number, count: number, immediate: number): void {
    if (this.#state !== 'running' && this.#state !== 'connecting') return;
    try {
      if (purpose === Purpose.READ) {
        if (!this.#readReturned()) return;
      } else if (purpose === Purpose.RECEIVE) this.#received(immediate);
      else this.#confirmations.completed(count);
    } catch (error) {
      this.#stop(error);
    }
    this.host.touch();
  }

  failed(reason: string): void {
    if (this.#state === 'stopped' || this.#state === 'closed') return;
    this.#state = 'stopped';
    this.host.broke(this.peer, this.machine.generation, reason);
  }

  delivered(slot: number, byteLength: number, remainingBytes: number): void {
    this.host.delivered(this.peer, slot, byteLength, remainingBytes);
  }

  interrupt(): void {
    this.#pace.interrupt();
  }

  /** A barrier: after it returns, the requester does not change any byte here. */
  close(): void {
    this.#pace.interrupt();
    this.#connection?.close();
    this.#connection = undefined;
    this.#confirmations.reset();
    this.#state = 'closed';
  }

  #account(): Account {
    const words = wordsFor(this.host.setup.slots);
    const released = this.#perRequest ? this.#confirmations.released : this.#own.bits;
    return {
      claimed: Array.from({ length: words }, (_, w) => this.machine.claimedWord(w)),
      released: Array.from({ length: words }, (_, w) => Atomics.load(released, w)),
      next: this.machine.next,
    };
  }

  #look(): void {
    if (this.#pushes) this.#lookHere();
    else this.#read();
  }

  #read(): void {
    if (!this.machine.beginRead()) return;
    const { submission } = this.host.context;
    this.#connection!.begin(Opcode.READ, Purpose.READ, 0, WorkRequestFlag.SIGNALED);
    submission.sge(this.#landingAddress, this.#boardBytes, this.host.boards.lkey);
    submission.remote(this.#remoteBoard, this.#remoteRkey);
    this.host.memory.counters[Counter.READS]! += 1;
  }

  /** Whether it showed something new. */
  #readReturned(): boolean {
    this.machine.readReturned();
    const { header } = this.#landing;
    if (header[BoardWord.GENERATION] !== this.machine.generation) {
      throw new Violation(
        'ERR_RDMC_HIPOWER_GENERATION',
        `the requester's bitmap is of generation ${header[BoardWord.GENERATION]}, not ${this.machine.generation}`,
      );
    }
    const found = this.machine.take();
    const ended = this.#checkEnd();
    if (found || ended) {
      this.#pace.found();
      return true;
    }
    this.host.memory.counters[Counter.FRUITLESS_READS]! += 1;
    this.#pace.foundNothing();
    return false;
  }

  #lookHere(): void {
    const { counters } = this.host.memory;
    counters[Counter.LOOKS]! += 1;
    try {
      const found = this.machine.take();
      const ended = this.#checkPushedEnd();
      if (found && !ended) this.#pace.found();
      if (found || ended) {
        this.host.touch();
        this.host.context.wake();
        return;
      }
      counters[Counter.FRUITLESS_LOOKS]! += 1;
      this.#pace.foundNothing();
    } catch (error) {
      this.#stop(error);
    }
  }

  /** A board that was read shows the end. Whether everything has arrived; missing slots may be newer than the end flag. */
  #checkEnd(): boolean {
    const { header } = this.#landing;
    const done = saysEnd(header) && this.machine.ended(header[BoardWord.TOTAL]!);
    if (done) this.#finish();
    return done;
  }

  /**
   * A pushed board shows the end. It may be seen while it is placed, any number of times, so missing slots
   * do not prove anything: R is read instead, as in pull mode. It is the last board, so no push follows beside that READ.
   */
  #checkPushedEnd(): boolean {
    const { header } = this.#landing;
    if (!saysEnd(header)) return false;
    const done = this.machine.hasAll(header[BoardWord.TOTAL]!);
    if (done) this.#finish();
    else this.#read();
    return done;
  }

  #received(immediate: number): void {
    if (!this.#perRequest)
      throw new Violation('ERR_RDMC_HIPOWER_PROTOCOL', 'the requester sent an unexpected message');
    this.#connection!.postReceive();
    if (immediate === END_IMMEDIATE) {
      this.#endArrived();
      return;
    }
    this.host.memory.counters[Counter.CONFIRMATIONS]! += 1;
    this.machine.arrived(immediate);
  }

  /** Everything was written before on the same queue pair, so a second look is not needed. */
  #endArrived(): void {
    const { header } = this.#landing;
    if (!saysEnd(header))
      throw new Violation('ERR_RDMC_HIPOWER_PROTOCOL', 'the requester sent an end without its total');
    const total = header[BoardWord.TOTAL]!;
    if (!this.machine.ended(total)) this.machine.ended(total);
    this.#finish();
  }

  #finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.host.finished(this.peer);
  }

  #stop(error: unknown): void {
    if (!(error instanceof Violation)) throw error;
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    this.host.violated(this.peer, this.machine.generation, error);
  }
}
