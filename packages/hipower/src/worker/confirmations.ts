import type { ProtocolContext } from '@rdmc/dataplane';
import { Opcode, WorkRequestFlag } from '@rdmc/verbs';
import { EXTRA_SEND_DEPTH } from '../constants.js';
import { bitOf, wordsFor } from '../machine/bits.js';
import type { HiPowerRecords } from '../records.js';
import { type Connection, fullCount, Purpose } from './connection.js';

/** Every how manieth confirmation asks for a completion, which frees the send queue. */
const SIGNAL_EVERY = 16;

/**
 * SENDs that give single slots back (confirmation per work request). One may have done its work long before its own
 * completion is here, and the send queue holds it until then; so what finds no room waits here.
 */
export class Confirmations {
  /** P as far as it was confirmed: the part of the account that the application cannot be ahead of. */
  readonly released: Int32Array;
  #late: number[] = [];
  /** On the present connection: posted, and known to have completed. */
  #posted = 0;
  #done = 0;

  constructor(
    private readonly context: ProtocolContext<HiPowerRecords>,
    private readonly slots: number,
  ) {
    this.released = new Int32Array(wordsFor(slots));
  }

  confirm(slot: number, connection: Connection): void {
    if (this.#late.length === 0 && this.#hasRoom()) this.#post(slot, connection);
    else this.#late.push(slot);
  }

  /** The account has been taken, and its connection does not stand yet. */
  keep(slot: number): void {
    this.#late.push(slot);
  }

  /** There is no connection: the next account tells of it. */
  record(slot: number): void {
    this.released[slot >> 5]! ^= bitOf(slot);
  }

  /** Posts what waits, as far as there is room. */
  flush(connection: Connection): void {
    let sent = 0;
    for (; sent < this.#late.length && this.#hasRoom(); sent += 1) this.#post(this.#late[sent]!, connection);
    if (sent > 0) this.#late.splice(0, sent);
  }

  /** Some wait for the completion of others. */
  get isFull(): boolean {
    return this.#late.length > 0;
  }

  completed(count: number): void {
    this.#done = fullCount(count, this.#done);
  }

  /** The connection is gone. What waits was released all the same. */
  reset(): void {
    for (const slot of this.#late) this.record(slot);
    this.#late = [];
    this.#posted = 0;
    this.#done = 0;
  }

  #hasRoom(): boolean {
    return ((this.#posted - this.#done) | 0) < this.slots + EXTRA_SEND_DEPTH;
  }

  #post(slot: number, connection: Connection): void {
    this.record(slot);
    this.#posted = (this.#posted + 1) | 0;
    const signal = this.#posted % SIGNAL_EVERY === 0 ? WorkRequestFlag.SIGNALED : 0;
    const flags = signal | WorkRequestFlag.SOLICITED;
    connection.begin(Opcode.SEND_WITH_IMM, Purpose.CONFIRM, this.#posted, flags);
    this.context.submission.immediate(slot);
  }
}
