import type { ProtocolContext } from '@rdmc/dataplane';
import { Opcode, WorkRequestFlag } from '@rdmc/verbs';
import { EXTRA_SEND_DEPTH } from '../constants.js';
import { bitOf, wordsFor } from '../machine/bits.js';
import type { HiPowerRecords } from '../records.js';
import { type Connection, fullCount, Purpose } from './connection.js';

/** One of this many confirmations is signalled; its completion frees the send queue. */
const SIGNAL_EVERY = 16;

/**
 * SENDs that release single slots (confirmation per work request). A SEND may have arrived long before its own
 * completion is here, and the send queue holds it until then; so confirmations without room wait here.
 */
export class Confirmations {
  /** P of the confirmed slots: the application cannot be ahead of this part of the account. */
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

  /** The account was read, and its connection is not established yet. */
  keep(slot: number): void {
    this.#late.push(slot);
  }

  /** There is no connection: the next account includes the release. */
  record(slot: number): void {
    this.released[slot >> 5]! ^= bitOf(slot);
  }

  /** Posts waiting confirmations while there is room. */
  flush(connection: Connection): void {
    let sent = 0;
    for (; sent < this.#late.length && this.#hasRoom(); sent += 1) this.#post(this.#late[sent]!, connection);
    if (sent > 0) this.#late.splice(0, sent);
  }

  /** Some confirmations wait for the completion of others. */
  get isFull(): boolean {
    return this.#late.length > 0;
  }

  completed(count: number): void {
    this.#done = fullCount(count, this.#done);
  }

  /** The connection has ended. Waiting slots were released nevertheless. */
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
