import type { RemoteKey } from '@rdmc/verbs';
import type { BlockRange } from './block-range.js';

/**
 * The outputs of the state machine: a queue pair for data and one for announcements per neighbour,
 * and the application. The machine is pure; tests run it over a simulated wire.
 *
 * `pair` is the index of a neighbour, `slot` the index of a receive or of a send.
 */
export interface GroupPort {
  /**
   * Posts a receive: the header into the header of the receive slot, then as many bytes as fit into `range`. It does
   * not keep `range`.
   */
  postReceive(pair: number, slot: number, range: BlockRange): void;
  /**
   * Posts a send of a block: the header of the send slot, then the bytes of `range`; the immediate is `block`, or HEADER_AHEAD
   * for a header alone. It does not keep `range`. `wakes`: the neighbour's worker has something to do when the block has
   * arrived.
   */
  postSend(pair: number, slot: number, block: number, range: BlockRange, wakes: boolean): void;
  /** Posts a receive for one announcement of a neighbour. */
  receiveAnnouncement(pair: number): void;
  /**
   * Announces to a neighbour the total number of receives posted for it, modulo 2^32. If `confirmAs` is not 0,
   * the completion is reported to the machine with that number.
   */
  announce(pair: number, count: number, confirmAs: number): void;
  /** Copies bytes of this process's memory, before it returns. The ranges do not overlap. */
  copy(toAddress: number, fromAddress: number, byteLength: number): void;
  /** A message began: the application must give memory for it. */
  incoming(message: number, byteLength: number): void;
  /** A message is complete here, and this member has relayed its part. Called in order of number. */
  finished(message: number): void;
}

/** A send of a block that has not arrived yet. The device executes it when the block's receive has succeeded. */
export interface Relay {
  /** The neighbour that gets the block. */
  readonly pair: number;
  /** Of the send: behind the slots of ordinary sends. */
  readonly slot: number;
  /** Its number in the message. */
  readonly block: number;
  /** As for `postSend`. */
  readonly wakes: boolean;
  /** The receive slot whose header is sent on, as it was received. */
  readonly headerSlot: number;
  /** The neighbour that sends the block. */
  readonly from: number;
  /** The number of blocks of that neighbour that have come then, from the first on. */
  readonly receives: number;
}

/** The output of a state machine whose device relays. */
export interface RelayPort {
  /** Posts a relay: the header of the receive slot, then the bytes of `range`. It keeps neither `relay` nor `range`. */
  postRelay(relay: Relay, range: BlockRange): void;
}

/** The output of a state machine whose member receives into memory without host access. */
export interface LoopBackPort {
  /**
   * Copies the first block of a message into its place by a WRITE of the device to itself. Its completion, behind which the
   * bytes are in that memory, is reported to the machine (`written`). It does not keep `from`.
   */
  writeFirst(message: number, to: WriteTarget, from: BlockRange): void;
}

/** Where a loop-back WRITE goes. */
export interface WriteTarget {
  readonly address: number;
  readonly rkey: RemoteKey;
}

/** The neighbour `pair` broke the wire protocol. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
  constructor(
    /** The index of the neighbour. */
    readonly pair: number,
    message: string,
  ) {
    super(message);
  }
}
