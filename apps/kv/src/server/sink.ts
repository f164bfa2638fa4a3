import type { Buffer } from 'node:buffer';
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
  ) {}
}

/** Where replies go: a client, another server, or this server itself. */
export interface Sink {
  readonly version: RespVersion;
  take(chunk: Chunk): void;
  /** Sends what may leave; whether something waits for the log. */
  flush(acknowledged: number): boolean;
  /** Replaces replies that may not leave by errors. */
  refuse(which: (chunk: Chunk) => boolean, error: string): void;
}
