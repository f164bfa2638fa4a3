import { Buffer } from 'node:buffer';
import type { RespVersion } from '../resp/writer.js';

/** Replies made in one go, that may leave at one moment. */
export class Chunk {
  constructor(
    /** Undefined: the answer comes from elsewhere. */
    public bytes: Buffer | undefined,
    /** They may leave when the log has acknowledged up to here; 0: at once. */
    readonly sequence: number,
    readonly replies: number,
    /** Something was read for them, so the server needs its lease. */
    readonly reads: boolean,
    /** In which turn they were made. */
    readonly turn: number,
    /** Where the replies lie that wait: offset and end of each; without it, all do. */
    readonly waiting: readonly number[] | undefined = undefined,
  ) {}

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
    return new Chunk(Buffer.concat(parts), 0, replies, this.reads && !everything, turn);
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
