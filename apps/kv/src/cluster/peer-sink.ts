import { Buffer } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import type { MeshConnection } from '@rdmc/mesh';
import type { Command, Route } from '../commands/command.js';
import type { CommandTable } from '../commands/command-table.js';
import { KvError, messageOf } from '../errors.js';
import { FULL_FRAME_BYTES, MAX_FRAME_PARTS, PEER_RUN_BYTES, PEER_WINDOW_BYTES } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { RequestParser } from '../resp/parser.js';
import type { RespVersion } from '../resp/writer.js';
import type { Executor } from '../server/executor.js';
import { refusalOf } from '../server/refusals.js';
import { Chunk, type Sink } from '../server/sink.js';
import { HeldRequests, type PeerRequest, type RequestsFrame } from './held-requests.js';
import { INTERNAL_SESSION } from './internal-session.js';
import { ownsAll } from './owned.js';
import { epochOf, NOT_OWNER, PeerFrame, repliesIn, requestsIn, u32 } from './peer-frames.js';
import { RefusedSlots } from './refused-slots.js';
import { errorReply } from './request.js';

/** A command that runs at the server of the client. */
const NOT_SENT: ReadonlySet<Route> = new Set(['here', 'transaction', 'cluster']);

/** The connection for replies. */
export type PeerConnection = Pick<MeshConnection, 'send' | 'bufferedBytes' | 'onDrain' | 'close'>;

/**
 * Runs another server's requests, and answers in any order: a reply that waits for the log does not delay others. As long as
 * the other server does not read its replies, no more requests of it are run.
 */
export class PeerSink implements Sink {
  version: RespVersion = 2;
  readonly #parser = new RequestParser();
  #chunks: Chunk[] = [];
  #queuedBytes = 0;
  #resume: (() => void)[] = [];
  readonly #held = new HeldRequests();
  readonly #refused = new RefusedSlots();
  /** Resolves when the held requests that could be run were run; never rejects. */
  #drained: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(
    private readonly connection: PeerConnection,
    private readonly executor: Executor,
    private readonly commands: CommandTable,
    private readonly isOwn: (slot: number) => boolean,
    /** Whether the server serves all slots that are its own: a hand-over stops some. */
    private readonly servesAll: () => boolean = () => true,
  ) {
    connection.onDrain(() => this.#look());
  }

  /**
   * Runs the requests of one frame; resolves when the next one may be run. Requests for slots that are this server's wait for no table,
   * nor do later frames, unless much is held: at each hand-over, one server has the new table before another one.
   * @param table resolves when this server has the slot table of the frame's sender; undefined: it has
   * @throws KvError for a frame that is not valid
   */
  run(payload: Buffer, table?: Promise<void>): Promise<void> | undefined {
    const frame: RequestsFrame = { epoch: epochOf(payload), hasTable: !table };
    if (this.#held.isEmpty) this.#refused.forgetBefore(frame.epoch);
    const done = this.#go(requestsIn(payload), frame);
    if (!table) return done;
    const drained = table.then(() => {
      frame.hasTable = true;
      return this.#drain();
    });
    const room = (): Promise<void> | undefined =>
      this.#held.bytes > PEER_WINDOW_BYTES ? drained : undefined;
    return done ? done.then(room) : room();
  }

  /** The connection has ended: what is held is not run any more. */
  close(): void {
    this.#isClosed = true;
    this.#held.clear();
  }

  take(chunk: Chunk): void {
    this.#chunks.push(chunk);
    this.#queuedBytes += chunk.bytes!.length;
  }

  flush(acknowledged: number, turn: number): boolean {
    const ready = this.#chunks.filter((chunk) => chunk.isReady(acknowledged, turn));
    if (ready.length > 0) {
      this.#chunks = this.#chunks.filter((chunk) => !chunk.isReady(acknowledged, turn));
      for (const { bytes } of ready) this.#queuedBytes -= bytes!.length;
      for (const parts of framesOf(ready)) this.connection.send(PeerFrame.REPLIES, ...parts);
      this.#look();
    }
    return this.#chunks.length > 0;
  }

  refuse(which: (chunk: Chunk) => boolean, error: string): void {
    const reply = errorReply(error);
    this.#chunks = this.#chunks.map((chunk) => {
      if (!which(chunk)) return chunk;
      const parts = [...repliesIn(chunk.bytes!)].flatMap(({ id }) => [u32(id), u32(reply.length), reply]);
      const bytes = Buffer.concat(parts);
      this.#queuedBytes += bytes.length - chunk.bytes!.length;
      const { replies, turn } = chunk;
      return new Chunk(bytes, { sequence: 0, replies, reads: false, turn });
    });
  }

  /** Runs the held requests whose table is here. One such run follows the other, so that requests stay in order. */
  #drain(): Promise<void> {
    this.#drained = this.#drained
      .then(() => (this.#isClosed ? undefined : this.#go(this.#held.ready())))
      .catch((error: unknown) => {
        this.close();
        void this.connection.close(error instanceof Error ? error : new Error(messageOf(error)));
      });
    return this.#drained;
  }

  /** @param frame the frame of the requests; undefined: they were held, and do not wait any more */
  #go(requests: Iterator<PeerRequest>, frame?: RequestsFrame): Promise<void> | undefined {
    const { executor } = this;
    executor.begin(this);
    for (let next = requests.next(); !next.done; next = requests.next()) {
      this.version = next.value.version;
      this.#runOne(next.value, frame);
      if (executor.isFull) {
        executor.endRun();
        executor.end();
        executor.begin(this);
      } else if (executor.writer.length > PEER_RUN_BYTES) {
        executor.endRun();
        executor.begin(this);
      }
      if (executor.mustYield) {
        executor.endRun();
        return turn().then(() => this.#go(requests, frame));
      }
      if (this.#mustWait()) {
        executor.endRun();
        return this.#room().then(() => this.#go(requests, frame));
      }
    }
    executor.endRun();
    return undefined;
  }

  #mustWait(): boolean {
    const unsent = this.#queuedBytes + this.executor.writer.length;
    return unsent + this.connection.bufferedBytes > PEER_WINDOW_BYTES;
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume.push(resolve);
    });
  }

  /** Replies were sent, or were read. */
  #look(): void {
    if (this.#queuedBytes + this.connection.bufferedBytes > PEER_WINDOW_BYTES) return;
    for (const resume of this.#resume.splice(0)) resume();
  }

  /** Runs a request, refuses it, or holds it: it waits for the table of its frame, or for requests before it. */
  #runOne(request: PeerRequest, frame: RequestsFrame | undefined): void {
    const { executor } = this;
    const { writer } = executor;
    const { id, bytes } = request;
    const before = executor.runState;
    const at = writer.length;
    const command = this.#commandIn(bytes);
    const args = this.#parser.arguments;
    const isOwn = this.#isHere(command, args, frame?.hasTable ?? true);
    if (frame && (this.#held.blocks(command, args) || !(isOwn || frame.hasTable))) {
      this.#held.add(request, frame, command, args);
      return;
    }
    const epoch = frame?.epoch ?? request.epoch!;
    if (!isOwn || this.#refused.has(command, args, epoch)) {
      this.#refused.add(command, args, epoch);
      writer.frame(id, NOT_OWNER);
      return;
    }
    writer.frame(id, 0);
    executor.run(command, args, INTERNAL_SESSION, true);
    if (writer.length - at > FULL_FRAME_BYTES) {
      executor.takeBack(at + 8);
      writer.error(`ERR a reply between servers is over ${FULL_FRAME_BYTES} bytes`);
    }
    writer.patchU32(at + 4, writer.length - at - 8);
    // Replies that wait and those that do not are sent apart, and so are replies of different appends.
    const waits = executor.sequence > executor.store.acknowledged;
    const waited = before.sequence > executor.store.acknowledged;
    if (waits !== waited || executor.mustSplit(before.sequence)) executor.splitRun(at, before);
  }

  /** Commands for all slots wait for the table: by an earlier one, a slot may be another server's. */
  #isHere(command: Command, args: Arguments, hasTable: boolean): boolean {
    if (command.route === 'everywhere') return hasTable && this.servesAll();
    return ownsAll(command, args, this.isOwn);
  }

  /** One whole command, in the parser. Servers forward only commands that they have checked. */
  #commandIn(bytes: Buffer): Command {
    const parser = this.#parser;
    parser.feed(bytes);
    const isWhole = parser.next() && parser.command.length === bytes.length;
    const command = isWhole ? this.commands.findOfServer(parser.arguments) : undefined;
    const isSent = command && !NOT_SENT.has(command.route);
    if (!isSent || refusalOf(command, parser.arguments, true) !== undefined) {
      throw new KvError('ERR_RDMC_KV_PROTOCOL', 'another server sent a command that is not valid');
    }
    return command;
  }
}

/** The parts of each frame. */
function framesOf(chunks: readonly Chunk[]): Buffer[][] {
  const frames: Buffer[][] = [];
  let parts: Buffer[] = [];
  let length = 0;
  for (const { bytes } of chunks) {
    const isFull = length + bytes!.length > FULL_FRAME_BYTES || parts.length === MAX_FRAME_PARTS;
    if (length > 0 && isFull) {
      frames.push(parts);
      parts = [];
      length = 0;
    }
    parts.push(bytes!);
    length += bytes!.length;
  }
  frames.push(parts);
  return frames;
}
