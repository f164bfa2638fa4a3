import { payloadRoom } from '../seal/layout.js';
import { MessageSealer } from '../seal/message-sealer.js';
import type { PieceMap } from './piece-map.js';
import { NUMBER_BYTES } from './piece-message.js';
import type { ChangedFile, FilledPieces, PullRunOrder } from './reader-orders.js';

/** Where pieces are read. */
export interface PieceSource {
  readonly map: PieceMap;
  /** Reads a piece to `target`, which has its length. Returns the entry that it is of where that cannot be sent. */
  read(piece: number, target: Buffer): ChangedFile | undefined;
}

/** Fills the messages of one run with its pieces, and encrypts them. */
export class PiecePacker {
  #next = 0;
  readonly #sealer: MessageSealer | undefined;

  constructor(
    private readonly source: PieceSource,
    private readonly order: PullRunOrder,
    /** Entries whose pieces are left out, in all runs. */
    private readonly changed: Set<number>,
  ) {
    this.#sealer = order.seal && new MessageSealer(order.seal);
  }

  /** Fills a message with the next pieces; 0 bytes at the end of the run. */
  fill(target: Buffer, sequence: number): FilledPieces {
    const { source, changed } = this;
    const { pieces } = this.order;
    const room = this.#sealer ? payloadRoom(target.length) : target.length;
    const sent: number[] = [];
    const found: ChangedFile[] = [];
    let at = 0;
    for (; this.#next < pieces.length; this.#next += 1) {
      const piece = pieces[this.#next]!;
      const { entry } = source.map.fileOf(piece);
      if (changed.has(entry)) continue;
      const end = at + NUMBER_BYTES + source.map.bytesOf(piece);
      if (end > room) break;
      const change = source.read(piece, target.subarray(at + NUMBER_BYTES, end));
      if (change) {
        changed.add(entry);
        found.push(change);
        continue;
      }
      target.writeUInt32LE(piece, at);
      sent.push(piece);
      at = end;
    }
    const bytes = at > 0 && this.#sealer ? this.#sealer.seal(target, at, sequence, false) : at;
    return { bytes, pieces: sent, position: this.#next, changed: found };
  }
}
