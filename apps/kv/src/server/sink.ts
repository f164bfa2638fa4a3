import { Buffer } from 'node:buffer';
import type { RespVersion } from '../resp/writer.js';

/** What decides when a chunk may leave. */
export interface ChunkFacts {
  /** The chunk may leave when the log has acknowledged up to here; 0: at once. */
  readonly sequence: number;
  readonly replies: number;
  /** Something was read for the replies, so the server needs its lease. */
  readonly reads: boolean;
  /** The turn that made the replies; 0: another server made them. */
  readonly turn: number;
  /** Where the replies lie that wait: offset and end of each; without it, all of them wait. */
  readonly waiting?: readonly number[];
}

/** Replies made in one go, that may leave at one moment. */
export class Chunk {
  readonly sequence: number;
  readonly replies: number;
  readonly reads: boolean;
  readonly turn: number;
  readonly waiting: readonly number[] | undefined;

  /** @param bytes undefined: another server has not answered yet */
  constructor(
    public bytes: Buffer | undefined,
    { sequence, replies, reads, turn, waiting }: ChunkFacts,
  ) {
    this.sequence = sequence;
    this.replies = replies;
    this.reads = reads;
    this.turn = turn;
    this.waiting = waiting;
  }

  /**
   * Whether it may leave: the log has acknowledged what it waits for, and the turn that made it has ended, in which the
   * lease was looked at.
   */
  isReady(acknowledged: number, turn: number): boolean {
    return this.bytes !== undefined && this.sequence <= acknowledged && this.turn < turn;
  }

  /** The same with an error in place of each reply that waits, or of all. It waits for the log no more. */
  failed(error: string, all: boolean): Chunk {
    const reply = Buffer.from(`-${error}\r\n`);
    const { bytes, replies, turn, waiting } = this;
    const parts: Buffer[] = [];
    const everything = all || !waiting;
    if (everything) for (let i = 0; i < replies; i += 1) parts.push(reply);
    else {
      let at = 0;
      for (let i = 0; i < waiting.length; i += 2) {
        parts.push(bytes!.subarray(at, waiting[i]), reply);
        at = waiting[i + 1]!;
      }
      parts.push(bytes!.subarray(at));
    }
    const reads = this.reads && !everything;
    return new Chunk(Buffer.concat(parts), { sequence: 0, replies, reads, turn });
  }
}

/** Where replies go: a client, another server, or this server itself. */
export interface Sink {
  readonly version: RespVersion;
  take(chunk: Chunk): void;
  /** Sends what may leave of what was made before a turn; whether something waits for the log. */
  flush(acknowledged: number, turn: number): boolean;
  /** Replaces replies that may not leave by errors: in such chunks those that wait for the log, or all. */
  refuse(which: (chunk: Chunk) => boolean, error: string, all: boolean): void;
}
