import type { BlockRange } from './block-range.js';

/**
 * What the state machine needs from the world: a queue pair for data and one for announcements per neighbour,
 * and the application. The machine is pure; tests drive it over a simulated wire.
 *
 * `pair` is the index of a neighbour, `slot` that of a receive or of a send.
 */
export interface GroupPort {
  /** Posts a receive: the header into the receive slot's header, then at most what fits into `range`, which it does not keep. */
  postReceive(pair: number, slot: number, range: BlockRange): void;
  /** Posts a block: the send slot's header, then the bytes of `range`, which it does not keep; the immediate is `block`. */
  postSend(pair: number, slot: number, block: number, range: BlockRange): void;
  /** Posts a receive for one announcement of a neighbour. */
  receiveAnnouncement(pair: number): void;
  /**
   * Tells a neighbour how many receives have been posted for it in all, modulo 2^32. Where `confirmAs` is not 0,
   * the machine wants to hear of the completion under that number.
   */
  announce(pair: number, count: number, confirmAs: number): void;
  copy(toAddress: number, fromAddress: number, byteLength: number): void;
  /** A message began: the application is to give memory for it. */
  incoming(message: number, byteLength: number): void;
  /** A message is whole here, and this member's part in passing it on is done. In order of number. */
  finished(message: number): void;
}

/** The neighbour `pair` broke the rules of the wire. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
  constructor(
    readonly pair: number,
    message: string,
  ) {
    super(message);
  }
}
