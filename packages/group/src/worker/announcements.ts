import { CONTROL_SEND_DEPTH, CONTROL_SIGNAL_EVERY } from '../constants.js';
import { Counter } from './counters.js';
import type { GroupTrace } from './group-trace.js';
import { type GroupPort, ProtocolViolation } from './port.js';
import { ReadyTokens } from './ready-tokens.js';

/** What only some groups have. */
export interface AnnouncementOptions {
  /** The most announced receives that are not filled; `undefined` for all that are posted. */
  readonly readyTokens?: number | undefined;
  readonly trace?: GroupTrace | undefined;
}

/**
 * Readiness in both directions (`ready_for_block` of RDMC, DSN 2018, section 4.2).
 *
 * Outgoing: after receives were posted for a neighbour, their cumulative count modulo 2^32 goes to it in one
 * announcement. While a neighbour may still send some blocks, further receives wait until they are a batch: an
 * announcement costs a wake-up on the other side. A neighbour without receives left gets an announcement at once.
 *
 * Incoming: a block may be sent to a neighbour while its count is larger than the number of blocks sent to it.
 *
 * A receive for every announcement that can be outstanding is posted: each unread announcement stands for a
 * posted receive of its sender that has not been filled. There are at most `receiveWindow` of these.
 */
export class Announcements {
  readonly #posted: Uint32Array;
  readonly #announced: Uint32Array;
  /** Blocks that came from each neighbour. */
  readonly #arrived: Uint32Array;
  /** Receives that share an announcement: half of a neighbour's part of the window. */
  readonly #batch: number;
  /** Announcements posted, and those known to have completed, per neighbour. */
  readonly #sent: Uint32Array;
  readonly #confirmed: Uint32Array;
  readonly #received: Uint32Array;
  readonly #used: Uint32Array;
  readonly #owedReceives: Uint32Array;
  /** Receives of each neighbour that were free at its last announcement. */
  readonly #level: Uint32Array;
  #tokens: ReadyTokens | undefined;

  constructor(
    private readonly port: GroupPort,
    private readonly counters: Float64Array,
    private readonly pairs: number,
    private readonly receiveWindow: number,
    private readonly options: AnnouncementOptions = {},
  ) {
    const { readyTokens } = options;
    this.#tokens = readyTokens === undefined ? undefined : new ReadyTokens(readyTokens);
    this.#posted = new Uint32Array(pairs);
    this.#announced = new Uint32Array(pairs);
    this.#arrived = new Uint32Array(pairs);
    this.#batch = Math.max(1, Math.floor(receiveWindow / (2 * pairs)));
    this.#sent = new Uint32Array(pairs);
    this.#confirmed = new Uint32Array(pairs);
    this.#received = new Uint32Array(pairs);
    this.#used = new Uint32Array(pairs);
    this.#owedReceives = new Uint32Array(pairs);
    this.#level = new Uint32Array(pairs);
  }

  /** Limits the announced receives that are not filled. Call it before the first receive is posted. */
  limit(readyTokens: number): void {
    this.#tokens = new ReadyTokens(readyTokens);
  }

  /** A data receive was posted for `pair`. */
  posted(pair: number): void {
    if (this.#tokens) this.#tokens.posted(pair);
    else this.#posted[pair]! += 1;
  }

  /** A block came from `pair`. */
  arrived(pair: number): void {
    this.#arrived[pair]! += 1;
    this.#tokens?.arrived();
  }

  /** A block was sent to `pair`. */
  used(pair: number): void {
    this.#used[pair]! += 1;
  }

  /**
   * Whether `pair` posts further receives after the last block that was sent to it: half of its receives are used, or nearly
   * all. So a member that waits for nothing else wakes up once for half of its window.
   */
  wantsMore(pair: number): boolean {
    const left = (this.#received[pair]! - this.#used[pair]!) >>> 0;
    return left <= 1 || left === this.#level[pair]! >>> 1;
  }

  /** Changes with every block and every announcement that comes from `pair`. */
  cameFrom(pair: number): number {
    return this.#arrived[pair]! + this.#received[pair]!;
  }

  /** Whether `pair` has a receive for the next block. */
  mayUse(pair: number): boolean {
    return this.#used[pair] !== this.#received[pair];
  }

  /** An announcement of `pair` arrived. */
  received(pair: number, count: number): void {
    const ahead = (count - this.#used[pair]!) >>> 0;
    const increase = (count - this.#received[pair]!) >>> 0;
    if (ahead > this.receiveWindow || increase > ahead) {
      throw new ProtocolViolation(
        pair,
        `announced ${count} receives after ${this.#received[pair]}, with ${this.#used[pair]} blocks sent to it`,
      );
    }
    this.options.trace?.ready(pair, count);
    this.#received[pair] = count;
    this.#level[pair] = ahead;
    this.#owedReceives[pair]! += 1;
  }

  /** A signalled announcement to `pair` completed, and with it all before. */
  confirmed(pair: number, upTo: number): void {
    this.#confirmed[pair] = upTo;
  }

  /** Posts again the receives of announcements that were read. Call it before blocks are sent. */
  replenish(): void {
    for (let pair = 0; pair < this.pairs; pair += 1) {
      while (this.#owedReceives[pair]! > 0) {
        this.#owedReceives[pair]! -= 1;
        this.port.receiveAnnouncement(pair);
      }
    }
  }

  /** Whether an announcement waits for the completion of an earlier one. */
  get waitsForOwn(): boolean {
    for (let pair = 0; pair < this.pairs; pair += 1) {
      if (this.#announced[pair] !== this.#posted[pair] && this.#isFull(pair)) return true;
    }
    return false;
  }

  #isFull(pair: number): boolean {
    return (this.#sent[pair]! - this.#confirmed[pair]!) >>> 0 >= CONTROL_SEND_DEPTH;
  }

  /** Posts the announcements that are due. */
  announce(): void {
    if (this.#tokens) this.#release(this.#tokens);
    for (let pair = 0; pair < this.pairs; pair += 1) {
      const pending = (this.#posted[pair]! - this.#announced[pair]!) >>> 0;
      const known = (this.#announced[pair]! - this.#arrived[pair]!) >>> 0;
      if (pending === 0 || (pending < this.#batch && known >= this.#batch)) continue;
      // The send queue of announcements is full. Its next completion causes another turn.
      if (this.#isFull(pair)) continue;
      this.#announced[pair] = this.#posted[pair]!;
      this.#sent[pair]! += 1;
      const number = this.#sent[pair]!;
      const signaled = number % CONTROL_SIGNAL_EVERY === 0;
      this.port.announce(pair, this.#announced[pair]!, signaled ? number : 0);
      this.options.trace?.announced(pair, this.#announced[pair]!);
      this.counters[Counter.ANNOUNCEMENTS]! += 1;
    }
  }

  /** Counts further receives as posted, as many as the tokens allow. */
  #release(tokens: ReadyTokens): void {
    for (let pair = tokens.next(); pair !== undefined; pair = tokens.next()) this.#posted[pair]! += 1;
  }
}
