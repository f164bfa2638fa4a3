import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { encodeFrame } from '@rdmc/mesh';
import { commands } from '../commands/table.js';
import { FULL_FRAME_BYTES } from '../limits.js';
import { RequestParser } from '../resp/parser.js';
import type { RespVersion } from '../resp/writer.js';
import type { Executor } from '../server/executor.js';
import { Chunk, type Sink } from '../server/sink.js';
import { INTERNAL_SESSION } from './internal-session.js';
import { ownsAll } from './owned.js';
import { NOT_OWNER, PeerFrame, repliesIn, requestsIn, u32 } from './peer-frames.js';
import { errorReply } from './request.js';

/** Runs what another server asks, and answers in any order: what waits for the log holds nothing else up. */
export class PeerSink implements Sink {
  version: RespVersion = 2;
  readonly #parser = new RequestParser();
  #chunks: Chunk[] = [];

  constructor(
    private readonly socket: Socket,
    private readonly executor: Executor,
    private readonly isOwn: (slot: number) => boolean,
  ) {}

  /** The requests of one frame. @throws KvError for what no server sends */
  run(payload: Buffer): void {
    const { executor } = this;
    executor.begin(this);
    for (const { id, version, bytes } of requestsIn(payload)) {
      this.version = version;
      this.#runOne(id, bytes);
      if (executor.isFull) {
        executor.endRun();
        executor.end();
        executor.begin(this);
      }
    }
    executor.endRun();
  }

  take(chunk: Chunk): void {
    this.#chunks.push(chunk);
  }

  flush(acknowledged: number, turn: number): boolean {
    const ready = this.#chunks.filter((chunk) => chunk.isReady(acknowledged, turn));
    if (ready.length > 0) {
      this.#chunks = this.#chunks.filter((chunk) => !chunk.isReady(acknowledged, turn));
      for (const frame of framesOf(ready)) this.socket.write(frame);
    }
    return this.#chunks.length > 0;
  }

  refuse(which: (chunk: Chunk) => boolean, error: string): void {
    const reply = errorReply(error);
    this.#chunks = this.#chunks.map((chunk) => {
      if (!which(chunk)) return chunk;
      const parts = [...repliesIn(chunk.bytes!)].flatMap(({ id }) => [u32(id), u32(reply.length), reply]);
      return new Chunk(Buffer.concat(parts), 0, chunk.replies, false, chunk.turn);
    });
  }

  #runOne(id: number, bytes: Buffer): void {
    const { executor } = this;
    const { writer } = executor;
    const before = executor.runState;
    const at = writer.length;
    this.#parser.feed(bytes);
    const command = this.#parser.next() ? commands.find(this.#parser.arguments) : undefined;
    if (!command || !ownsAll(command, this.#parser.arguments, this.isOwn)) {
      writer.frame(id, NOT_OWNER);
      return;
    }
    writer.frame(id, 0);
    executor.run(command, this.#parser.arguments, INTERNAL_SESSION);
    if (writer.length - at > FULL_FRAME_BYTES) {
      writer.truncate(at + 8);
      writer.error(`ERR a reply between servers is over ${FULL_FRAME_BYTES} bytes`);
    }
    writer.patchU32(at + 4, writer.length - at - 8);
    // What waits and what does not leave apart.
    const waits = executor.sequence > executor.store.acknowledged;
    const waited = before.sequence > executor.store.acknowledged;
    if (waits !== waited) executor.splitRun(at, before);
  }
}

function framesOf(chunks: readonly Chunk[]): Buffer[] {
  const frames: Buffer[] = [];
  let parts: Buffer[] = [];
  let length = 0;
  for (const { bytes } of chunks) {
    if (length > 0 && length + bytes!.length > FULL_FRAME_BYTES) {
      frames.push(encodeFrame(PeerFrame.REPLIES, ...parts));
      parts = [];
      length = 0;
    }
    parts.push(bytes!);
    length += bytes!.length;
  }
  frames.push(encodeFrame(PeerFrame.REPLIES, ...parts));
  return frames;
}
