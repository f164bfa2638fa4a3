import type { LocalKey, RemoteKey } from '@rdmc/verbs';
import { blockCount } from '../blocks.js';
import { HEADER_BYTES, MAX_BLOCKS_PER_MESSAGE, OPEN_MESSAGES } from '../constants.js';
import type { Announcements } from './announcements.js';
import { BlockRange } from './block-range.js';
import { BufferShare } from './buffer-share.js';
import { Counter } from './counters.js';
import type { FirstBuffers } from './first-buffers.js';
import {
  goesAhead,
  HEADER_AHEAD,
  headerBlock,
  headerBlockSize,
  headerMessage,
  headerSize,
} from './header.js';
import type { MachineConfig } from './machine-config.js';
import { OpenMessage } from './open-message.js';
import type { Plans } from './plans.js';
import { type GroupPort, ProtocolViolation } from './port.js';
import { ReceiveSlots } from './receive-slots.js';

/**
 * Posts receives in the order of the schedule, at most `receiveWindow`, and handles the arrived blocks.
 *
 *   message m:  first block          | others, each into its place …      message m + 1:  first block …
 *               into a first-block   |                                                    into another
 *               buffer, before m is  | posted once the first is here                      first-block buffer
 *               known at all         | and the application gave memory
 *
 * The order is one over all neighbours, so the first receive of a message follows the last one of the previous message.
 *
 * Where blocks are longer than a first-block buffer, the first receive gets the header alone:
 *
 *   message m:  header               | all blocks, each into its place …  | message m + 1:  header …
 *               (buffer stays free)  | posted once the application gave memory
 */
export class ReceiveSide {
  readonly slots: ReceiveSlots;
  readonly #range = new BlockRange();
  /** The first-block buffers of the group; undefined at the root, and before the start. */
  #buffers: BufferShare | undefined;
  /** The buffer that waits for the first block of the next message, or −1. */
  #waitingBuffer = -1;
  #nextNumber = 0;
  /** The message whose receives are being posted. */
  #posting: OpenMessage | undefined;

  constructor(
    private readonly config: MachineConfig,
    private readonly port: GroupPort,
    private readonly plans: Plans,
    private readonly announcements: Announcements,
    /** Messages that have begun and not finished, in order of number. */
    private readonly open: OpenMessage[],
  ) {
    const { receiveWindow, neighbours, relays } = config;
    this.slots = new ReceiveSlots(receiveWindow, relays?.ahead ?? 0, neighbours.length);
  }

  start(buffers: FirstBuffers): void {
    if (this.config.firstPair !== -1) this.#buffers = new BufferShare(buffers);
  }

  /** Posts all receives that are possible now. */
  advance(): void {
    if (this.config.firstPair === -1) return;
    while (this.slots.mayPost) {
      const message = this.#posting;
      if (!message) {
        if (!this.#postFirst()) return;
      } else if (message.receivesPosted === message.blocks) {
        this.#posting = undefined;
      } else if (message.placed) {
        this.#postNext(message);
      } else {
        return;
      }
    }
  }

  /**
   * The receive `slot` was filled.
   * @throws ProtocolViolation if block, header or length differ from the schedule
   */
  arrived(slot: number, immediate: number, bytes: number): void {
    const known = this.slots.message(slot);
    if (known) {
      this.#blockCame(slot, known, immediate, bytes);
      return;
    }
    const message = this.#begin(slot);
    if (this.#isAhead(message)) this.#headerCame(slot, message, immediate, bytes);
    else {
      this.#intoBuffer(slot, message, immediate);
      this.#blockCame(slot, message, immediate, bytes);
    }
    this.port.incoming(message.number, message.byteLength);
  }

  #blockCame(slot: number, message: OpenMessage, immediate: number, bytes: number): void {
    this.#check(slot, message, immediate, bytes);
    this.config.trace?.received(slot, message.number, immediate);
    message.markReceived(immediate);
    this.announcements.arrived(this.slots.pair(slot));
    this.slots.filled(slot);
    const { counters } = this.config;
    counters[Counter.BLOCKS_RECEIVED]! += 1;
    counters[Counter.BYTES_RECEIVED]! += bytes - HEADER_BYTES;
  }

  /** A header alone: no block is here, and the first-block buffer stays free. The blocks come once there is memory for them. */
  #headerCame(slot: number, message: OpenMessage, immediate: number, bytes: number): void {
    const block = headerBlock(this.config.headers, slot);
    if (immediate !== HEADER_AHEAD || block !== HEADER_AHEAD || bytes !== HEADER_BYTES) {
      throw new ProtocolViolation(
        this.config.firstPair,
        `sent block ${immediate} with ${bytes} bytes, and the header goes ahead of blocks of ${message.blockBytes} bytes`,
      );
    }
    this.config.trace?.headerReceived(slot);
    this.announcements.arrived(this.slots.pair(slot));
    this.slots.filled(slot);
    this.#buffers!.free(this.#waitingBuffer);
    this.#waitingBuffer = -1;
  }

  /** The first block of a message came with its header, into a first-block buffer. */
  #intoBuffer(slot: number, message: OpenMessage, immediate: number): void {
    this.slots.expect(slot, message.plan.receives.block(0));
    message.receivesPosted = 1;
    message.firstBlock = immediate;
    message.buffer = this.#waitingBuffer;
    this.#waitingBuffer = -1;
  }

  #isAhead({ byteLength, blockBytes }: OpenMessage): boolean {
    return goesAhead(byteLength, blockBytes, this.#buffers!.bytes);
  }

  /**
   * The application gave memory: copies the first block into its place, if it came in a buffer. With `rkey` the device does
   * it; other blocks arrive meanwhile.
   */
  place(message: OpenMessage, address: number, lkey: LocalKey, rkey?: RemoteKey): void {
    message.address = address;
    message.lkey = lkey;
    this.config.trace?.placed(message.number);
    if (message.buffer === -1) return;
    const length = message.length(message.firstBlock);
    const to = message.place(message.firstBlock);
    const buffers = this.#buffers!;
    const from = buffers.address(message.buffer);
    if (length === 0) this.freeBuffer(message);
    else if (rkey === undefined) {
      this.port.copy(to, from, length);
      this.#copied(message);
    } else {
      message.isWriting = true;
      const range = this.#range.at(from, length, buffers.lkey(message.buffer));
      this.config.loopBack!.writeFirst(message.number, { address: to, rkey }, range);
    }
  }

  /** The device has copied the first block into its place. */
  written(message: OpenMessage): void {
    message.isWriting = false;
    this.#copied(message);
  }

  /** Frees the first-block buffer once it is not needed any more. */
  freeBuffer(message: OpenMessage): void {
    if (message.buffer === -1 || !message.placed || message.isWriting || message.sendsFromBuffer > 0) return;
    this.#buffers!.free(message.buffer);
    message.buffer = -1;
  }

  /** The group's requests have completed or were flushed: gives its first-block buffers back. */
  end(): void {
    this.#buffers?.end();
  }

  #copied(message: OpenMessage): void {
    const { counters, trace } = this.config;
    counters[Counter.FIRST_BLOCK_COPIES]! += 1;
    counters[Counter.BYTES_COPIED]! += message.length(message.firstBlock);
    trace?.copied(message.number, message.firstBlock);
    this.freeBuffer(message);
  }

  #postFirst(): boolean {
    if (this.#waitingBuffer !== -1 || this.open.length >= OPEN_MESSAGES) return false;
    const buffers = this.#buffers!;
    const buffer = buffers.take();
    if (buffer === -1) return false;
    this.#waitingBuffer = buffer;
    const slot = this.#take(this.config.firstPair, undefined, 0);
    const { firstPair, maxBlockBytes } = this.config;
    const bytes = Math.min(buffers.bytes, maxBlockBytes);
    this.port.postReceive(
      firstPair,
      slot,
      this.#range.at(buffers.address(buffer), bytes, buffers.lkey(buffer)),
    );
    return true;
  }

  #postNext(message: OpenMessage): void {
    const index = message.receivesPosted;
    const { receives } = message.plan;
    if (!receives.has(index)) throw new Error(`The schedule has fewer than ${message.blocks} receives`);
    const pair = receives.pair(index);
    const block = receives.block(index);
    message.receivesPosted += 1;
    const slot = this.#take(pair, message, block);
    const range = this.#range.at(message.place(block), message.length(block), message.lkey);
    this.port.postReceive(pair, slot, range);
  }

  /** The first block of a new message, or its header alone: the header has the sizes. */
  #begin(slot: number): OpenMessage {
    const { headers, maxBlockBytes, firstPair } = this.config;
    const byteLength = headerSize(headers, slot);
    const blockBytes = headerBlockSize(headers, slot);
    const blocks = blockCount(byteLength, blockBytes);
    if (
      !Number.isSafeInteger(byteLength) ||
      !(blockBytes >= 1 && blockBytes <= maxBlockBytes) ||
      blocks > MAX_BLOCKS_PER_MESSAGE
    ) {
      throw new ProtocolViolation(
        firstPair,
        `sent a header of ${byteLength} bytes in blocks of ${blockBytes}; at most ${maxBlockBytes} are agreed`,
      );
    }
    const plan = this.plans.for(blocks);
    const message = new OpenMessage(this.#numberOf(slot), byteLength, blockBytes, plan, false);
    this.#nextNumber = (message.number + 1) >>> 0;
    if (!plan.receives.has(0) || plan.receives.pair(0) !== firstPair) {
      throw new Error('The schedule lets the first block come from different members');
    }
    this.#posting = message;
    this.open.push(message);
    this.config.counters[Counter.BYTES_EXPECTED]! += byteLength;
    this.config.trace?.began(message.number, blocks);
    return message;
  }

  /** The number of a message that begins. If numbers may be left out, the header has it: not one of an earlier message. */
  #numberOf(slot: number): number {
    const { headers, skipsNumbers, firstPair } = this.config;
    const number = headerMessage(headers, slot);
    if (!skipsNumbers) return this.#nextNumber;
    if (((number - this.#nextNumber) | 0) >= 0) return number;
    throw new ProtocolViolation(
      firstPair,
      `sent message ${number}, and message ${this.#nextNumber} or a later one is next`,
    );
  }

  #check(slot: number, message: OpenMessage, immediate: number, bytes: number): void {
    const { headers } = this.config;
    const expected = this.slots.block(slot);
    const found =
      immediate === expected &&
      headerBlock(headers, slot) === expected &&
      bytes === HEADER_BYTES + message.length(expected) &&
      headerMessage(headers, slot) === message.number &&
      headerSize(headers, slot) === message.byteLength &&
      headerBlockSize(headers, slot) === message.blockBytes;
    if (found) return;
    throw new ProtocolViolation(
      this.slots.pair(slot),
      `sent block ${headerBlock(headers, slot)} of message ${headerMessage(headers, slot)} as block ${immediate} in ` +
        `${bytes} bytes; the schedule has ` +
        `block ${expected} of message ${message.number} in ${HEADER_BYTES + message.length(expected)} bytes`,
    );
  }

  #take(pair: number, message: OpenMessage | undefined, block: number): number {
    const slot = this.slots.take(pair, message, block);
    this.announcements.posted(pair);
    this.config.trace?.receivePosted(slot, pair, message?.number, message && block);
    return slot;
  }
}
