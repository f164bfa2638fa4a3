import { CONTROL_SEND_DEPTH, CONTROL_SIGNAL_EVERY } from '../constants.js';
import { Counter } from './counters.js';
import { type GroupPort, ProtocolViolation } from './port.js';

/**
 * Readiness in both directions (`ready_for_block` of RDMC, DSN 2018, section 4.2).
 *
 * Outgoing: after receives were posted for a neighbour, their cumulative count modulo 2^32 goes to it in one
 * announcement. While a neighbour may still send some blocks, further receives wait until they are a batch: an
 * announcement costs a wake-up on the other side. One that has nothing left to send into hears at once.
 *
 * Incoming: a block may go to a neighbour while its count is ahead of what was sent to it.
 *
 * A receive for every announcement that can be outstanding is posted: each unread announcement stands for a
 * receive that its author has posted and nobody has filled, of which there are at most `receiveWindow`.
 */
export class Announcements {
  readonly #posted: Uint32Array;
  readonly #told: Uint32Array;
  /** Blocks that came from each neighbour. */
  readonly #arrived: Uint32Array;
  /** Receives that share an announcement: half of a neighbour's part of the window. */
  readonly #batch: number;
  /** Announcements posted, and those known to have completed, per neighbour. */
  readonly #sent: Uint32Array;
  readonly #confirmed: Uint32Array;
  readonly #heard: Uint32Array;
  readonly #used: Uint32Array;
  readonly #owedReceives: Uint32Array;

  constructor(
    private readonly port: GroupPort,
    private readonly counters: Float64Array,
    private readonly pairs: number,
    private readonly receiveWindow: number,
  ) {
    this.#posted = new Uint32Array(pairs);
    this.#told = new Uint32Array(pairs);
    this.#arrived = new Uint32Array(pairs);
    this.#batch = Math.max(1, Math.floor(receiveWindow / (2 * pairs)));
    this.#sent = new Uint32Array(pairs);
    this.#confirmed = new Uint32Array(pairs);
    this.#heard = new Uint32Array(pairs);
    this.#used = new Uint32Array(pairs);
    this.#owedReceives = new Uint32Array(pairs);
  }

  /** A data receive was posted for `pair`. */
  posted(pair: number): void {
    this.#posted[pair]! += 1;
  }

  /** A block came from `pair`. */
  arrived(pair: number): void {
    this.#arrived[pair]! += 1;
  }

  /** A block was sent to `pair`. */
  used(pair: number): void {
    this.#used[pair]! += 1;
  }

  /** Changes with every block and every announcement that comes from `pair`. */
  cameFrom(pair: number): number {
    return this.#arrived[pair]! + this.#heard[pair]!;
  }

  /** Whether `pair` has a receive for the next block. */
  mayUse(pair: number): boolean {
    return this.#used[pair] !== this.#heard[pair];
  }

  /** An announcement of `pair` arrived. */
  heard(pair: number, count: number): void {
    const ahead = (count - this.#used[pair]!) >>> 0;
    const news = (count - this.#heard[pair]!) >>> 0;
    if (ahead > this.receiveWindow || news > ahead) {
      throw new ProtocolViolation(
        pair,
        `announced ${count} receives after ${this.#heard[pair]}, with ${this.#used[pair]} blocks sent to it`,
      );
    }
    this.#heard[pair] = count;
    this.#owedReceives[pair]! += 1;
  }

  /** A signalled announcement to `pair` completed, and with it all before. */
  confirmed(pair: number, upTo: number): void {
    this.#confirmed[pair] = upTo;
  }

  /** Posts again the receives of announcements that were read. To be done before blocks are sent. */
  replenish(): void {
    for (let pair = 0; pair < this.pairs; pair += 1) {
      while (this.#owedReceives[pair]! > 0) {
        this.#owedReceives[pair]! -= 1;
        this.port.receiveAnnouncement(pair);
      }
    }
  }

  /** Whether something could be told once an announcement of this member's own has completed. */
  get waitsForOwn(): boolean {
    for (let pair = 0; pair < this.pairs; pair += 1) {
      if (this.#told[pair] !== this.#posted[pair] && this.#isFull(pair)) return true;
    }
    return false;
  }

  #isFull(pair: number): boolean {
    return (this.#sent[pair]! - this.#confirmed[pair]!) >>> 0 >= CONTROL_SEND_DEPTH;
  }

  /** Tells every neighbour what it needs to know. */
  tell(): void {
    for (let pair = 0; pair < this.pairs; pair += 1) {
      const news = (this.#posted[pair]! - this.#told[pair]!) >>> 0;
      const known = (this.#told[pair]! - this.#arrived[pair]!) >>> 0;
      if (news === 0 || (news < this.#batch && known >= this.#batch)) continue;
      // The queue of announcements is full: its oldest completion comes, and with it another turn.
      if (this.#isFull(pair)) continue;
      this.#told[pair] = this.#posted[pair]!;
      this.#sent[pair]! += 1;
      const number = this.#sent[pair]!;
      const signaled = number % CONTROL_SIGNAL_EVERY === 0;
      this.port.announce(pair, this.#told[pair]!, signaled ? number : 0);
      this.counters[Counter.ANNOUNCEMENTS]! += 1;
    }
  }
}
