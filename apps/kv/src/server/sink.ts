import { Buffer } from 'node:buffer';
import type { RespVersion } from '../resp/writer.js';

/** The facts that decide when a chunk may be sent. */
export interface ChunkFacts {
  /** The chunk may be sent when the log has acknowledged this append; 0: at once. */
  readonly sequence: number;
  /** The replies depend on appends from this one up to `sequence`; undefined: on that one only, as far as they wait. */
  readonly since?: number | undefined;
  readonly replies: number;
  /** Something was read for the replies, so the server needs its lease. */
  readonly reads: boolean;
  /** The turn that made the replies; 0: another server made them. */
  readonly turn: number;
  /** Offset and end of each reply that waits; undefined: all of them wait. */
  readonly waiting?: readonly number[];
}

/** Replies of one run, which are sent together. */
export class Chunk {
  readonly sequence: number;
  readonly since: number;
  readonly replies: number;
  readonly reads: boolean;
  readonly turn: number;
  readonly waiting: readonly number[] | undefined;

  /** @param bytes undefined: another server has not answered yet */
  constructor(
    public bytes: Buffer | undefined,
    { sequence, since = sequence, replies, reads, turn, waiting }: ChunkFacts,
  ) {
    this.sequence = sequence;
    this.since = since;
    this.replies = replies;
    this.reads = reads;
    this.turn = turn;
    this.waiting = waiting;
  }

  /**
   * Whether it may be sent: the log has acknowledged its append, and its turn, in which the lease was checked, has
   * ended.
   */
  isReady(acknowledged: number, turn: number): boolean {
    return this.bytes !== undefined && this.sequence <= acknowledged && this.turn < turn;
  }

  /** Whether its replies may depend on this append. */
  dependsOn(sequence: number): boolean {
    return this.since <= sequence && sequence <= this.sequence;
  }

  /** The same chunk with an error in place of each reply that waits, or of all. It does not wait for the log any more. */
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

/** Receives replies: a client, another server, or this server itself. */
export interface Sink {
  readonly version: RespVersion;
  take(chunk: Chunk): void;
  /** Sends the chunks of earlier turns that may be sent; returns whether others wait for the log. */
  flush(acknowledged: number, turn: number): boolean;
  /** Replaces replies by errors: in the chunks that `which` selects those that wait for the log, or all. */
  refuse(which: (chunk: Chunk) => boolean, error: string, all: boolean): void;
}
