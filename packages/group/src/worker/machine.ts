import type { LocalKey, RemoteKey } from '@rdmc/verbs';
import { blockCount } from '../blocks.js';
import { Announcements } from './announcements.js';
import { Counter } from './counters.js';
import type { FirstBuffers } from './first-buffers.js';
import type { MachineConfig } from './machine-config.js';
import { OpenMessage } from './open-message.js';
import { Plans } from './plans.js';
import type { GroupPort } from './port.js';
import { ReceiveSide } from './receive-side.js';
import { SendSide } from './send-side.js';
import { WaitWatch } from './wait-watch.js';

/**
 * One member of one group, as a pure state machine. Each event calls one of the methods, which only change
 * the state; `advance()` then posts all requests that this state allows. So progress is a function of the
 * state and does not depend on the order of the events.
 *
 * Why it cannot deadlock: order all transfers of the group by (message, step). Take the first that has not
 * happened. Its sender received the block in an earlier step, and has posted and completed all its earlier
 * sends. Its receiver has all its earlier blocks, so the receive of this block is among the next `receiveWindow`,
 * or is the first of its message, for which a buffer is free as soon as earlier messages are finished: one buffer is
 * the group's own, whatever other groups have. A header that goes ahead of its message is such a transfer, too: it is in
 * front of the message's blocks, and needs a send and the first receive, but neither a block nor memory.
 */
export class GroupMachine {
  /** Those of the configuration, or its own. */
  readonly plans: Plans;
  readonly #open: OpenMessage[] = [];
  readonly #announcements: Announcements;
  readonly #receiveSide: ReceiveSide;
  readonly #sendSide: SendSide;
  readonly #waits: WaitWatch | undefined;

  constructor(
    private readonly config: MachineConfig,
    private readonly port: GroupPort,
  ) {
    const { topology, neighbours, counters, receiveWindow, readyTokens, trace } = config;
    this.plans = config.plans ?? new Plans(topology, neighbours);
    const pairs = neighbours.length;
    this.#announcements = new Announcements(port, counters, pairs, receiveWindow, { readyTokens, trace });
    this.#receiveSide = new ReceiveSide(config, port, this.plans, this.#announcements, this.#open);
    const messages = { plans: this.plans, open: this.#open };
    this.#sendSide = new SendSide(config, port, this.#announcements, this.#receiveSide, messages);
    this.#waits = trace && new WaitWatch(trace, this.#sendSide, this.#open);
  }

  /** Posts a receive for every announcement of `pair` that can be outstanding. Call it before `pair` is connected. */
  prepare(pair: number): void {
    for (let i = 0; i < this.config.receiveWindow; i += 1) this.port.receiveAnnouncement(pair);
  }

  /**
   * Narrows the windows: at most `sends` sends that have not completed, and `ready` receives that are announced and not filled.
   * As many relays wait in the device.
   * Call it before the first `advance`.
   */
  limit(sends: number, ready: number): void {
    this.#sendSide.limit(sends, ready);
    if (ready < this.config.receiveWindow) this.#announcements.limit(ready);
  }

  /**
   * The first-block buffers, which groups share. The header of a message goes ahead of blocks that do not fit into one, so their
   * size is the same at all members. Call it once, before the first `advance`.
   */
  start(buffers: FirstBuffers): void {
    this.#receiveSide.start(buffers);
    this.#sendSide.start(buffers);
  }

  /** Posts all requests that are possible now. */
  advance(): void {
    this.#announcements.replenish();
    this.#sendSide.advance();
    this.#finish();
    this.#receiveSide.advance();
    // Relays of blocks whose receives have just been posted.
    if (this.config.relays) this.#sendSide.advance();
    this.#announcements.announce();
    this.#waits?.look();
  }

  /** At the root: queues a message behind the earlier ones. */
  send(number: number, address: number, byteLength: number, lkey: LocalKey, blockBytes: number): void {
    const plan = this.plans.for(blockCount(byteLength, blockBytes));
    const message = new OpenMessage(number, byteLength, blockBytes, plan, true);
    message.address = address;
    message.lkey = lkey;
    this.config.trace?.began(number, message.blocks);
    this.#open.push(message);
  }

  /** No request of the group is posted any more, nor will be: gives its first-block buffers back. */
  end(): void {
    this.#receiveSide.end();
  }

  /**
   * The application's answer to `incoming`.
   * @param rkey for memory without host access: the key with which the first block is written there
   */
  place(number: number, address: number, lkey: LocalKey, rkey?: RemoteKey): void {
    const message = this.#open.find((candidate) => candidate.number === number && !candidate.placed);
    if (!message) throw new Error(`Message ${number} does not wait for memory`);
    this.#receiveSide.place(message, address, lkey, rkey);
  }

  /** The loop-back WRITE of the first block has completed. */
  written(number: number): void {
    const message = this.#open.find((candidate) => candidate.number === number && candidate.isWriting);
    if (!message) throw new Error(`No first block of message ${number} is being written`);
    this.#receiveSide.written(message);
  }

  /** @throws ProtocolViolation */
  announced(pair: number, count: number): void {
    this.#announcements.received(pair, count);
  }

  /** The announcement to `pair` with this `confirmAs` has completed. */
  announcementConfirmed(pair: number, number: number): void {
    this.#announcements.confirmed(pair, number);
  }

  /** A block is in receive slot `slot`. @throws ProtocolViolation */
  blockArrived(slot: number, immediate: number, bytes: number): void {
    this.#receiveSide.arrived(slot, immediate, bytes);
  }

  /** The send in send slot `slot` has completed; the slot is free. */
  sendCompleted(slot: number): void {
    this.#sendSide.completed(slot);
  }

  /** The number of messages that have begun and not finished. */
  get openMessages(): number {
    return this.#open.length;
  }

  /**
   * Whether completions of this member's own requests can wait: only a block or an announcement of a neighbour, or a
   * command, allows further progress.
   */
  get waitsForNeighbours(): boolean {
    return !this.#sendSide.waitsForOwn && !this.#announcements.waitsForOwn;
  }

  /** Changes with everything that comes from `pair`. */
  cameFrom(pair: number): number {
    return this.#announcements.cameFrom(pair);
  }

  /** The neighbours for whose blocks the device waits before it sends others to `pair`. */
  relaySources(pair: number): readonly number[] {
    return this.#sendSide.relaySources(pair);
  }

  /** The number of sends that have not completed: 0 to `sendWindow`; and of relays. */
  get outstandingSends(): number {
    return this.#sendSide.outstanding;
  }

  #finish(): void {
    while (this.#open.length > 0 && this.#open[0]!.finished) {
      const message = this.#open.shift()!;
      this.#sendSide.shifted();
      this.config.counters[message.isSource ? Counter.MESSAGES_SENT : Counter.MESSAGES_RECEIVED]! += 1;
      this.config.trace?.finished(message.number);
      this.port.finished(message.number);
    }
  }
}
