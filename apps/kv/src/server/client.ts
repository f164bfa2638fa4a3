import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import type { Session } from '../commands/session.js';
import { KvError } from '../errors.js';
import {
  CLIENT_END_MS,
  COPIED_OUTPUT_BYTES,
  MAX_OUTPUT_BYTES,
  MAX_UNAUTHENTICATED_OUTPUT_BYTES,
  PAUSE_FORWARDED_BYTES,
  PAUSE_OUTPUT_BYTES,
  PAUSE_UNANSWERED,
} from '../limits.js';
import { CLIENT_LIMITS, RequestParser, UNAUTHENTICATED_LIMITS } from '../resp/parser.js';
import type { RespVersion } from '../resp/writer.js';
import type { Transaction } from '../transactions/transaction.js';
import type { Executor } from './executor.js';
import { LongReplies } from './long-replies.js';
import { Chunk, type Sink } from './sink.js';
import type { UnfinishedCommands } from './unfinished-commands.js';

/** The parts of the server that a client uses. */
export interface ClientHost {
  readonly executor: Executor;
  /** Runs the command in the client's parser, or forwards it. */
  dispatch(client: Client): void;
  closed(client: Client): void;
  readonly unfinished: UnfinishedCommands;
}

/**
 * A client's connection. Replies are sent in the order of the commands. Input is read only as long as the client reads its
 * replies, so a slow client uses bounded memory and does not delay others.
 */
export class Client implements Sink, Session {
  readonly parser = new RequestParser();
  version: RespVersion = 2;
  name = '';
  transaction: Transaction | undefined = undefined;
  readonly address: string;
  #queue: Chunk[] = [];
  /** Of replies that were not written: those in the queue, and those that `hold` counts. */
  #queuedBytes = 0;
  readonly #longReplies = new LongReplies();
  #unanswered = 0;
  #forwardedBytes = 0;
  /** The commands after it run when it is answered. */
  #barrier: Chunk | undefined;
  #stopped = false;
  /** The parser has commands that were not run yet. */
  #held = false;
  #isInputOver = false;
  #ending = false;
  #authenticated = false;
  /** It never gave the password. */
  #isStranger = true;
  /** The transaction whose bytes were counted last. */
  #counted: Transaction | undefined;
  #countedBytes = 0;
  /** Runs from the end of the server's side on. */
  #endTimer: NodeJS.Timeout | undefined;

  constructor(
    readonly id: number,
    private readonly socket: Socket,
    private readonly host: ClientHost,
    authenticated: boolean,
  ) {
    this.authenticated = authenticated;
    this.address = `${socket.remoteAddress ?? '?'}:${socket.remotePort ?? 0}`;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      // It is read, and dropped, so that the end of the connection is seen.
      if (this.#stopped) return;
      this.parser.feed(chunk);
      this.#process();
    });
    socket.on('drain', () => this.#resume());
    socket.on('error', () => socket.destroy());
    socket.on('end', () => {
      this.#isInputOver = true;
      // With TLS the end may come while the commands before it are held.
      if (!this.#held) this.quit();
    });
    socket.on('finish', () => {
      // Not at once: the system would drop the reply with a reset where input is left that nobody has read.
      this.#endTimer = setTimeout(() => socket.destroy(), CLIENT_END_MS);
    });
    socket.on('close', () => this.#closed());
  }

  get authenticated(): boolean {
    return this.#authenticated;
  }

  /** The commands of a client that has not given the password must be short. */
  set authenticated(is: boolean) {
    this.#authenticated = is;
    // Replies from before RESET may be long, and are not read yet.
    if (is) this.#isStranger = false;
    this.parser.limits = is ? CLIENT_LIMITS : UNAUTHENTICATED_LIMITS;
  }

  quit(): void {
    this.#ending = true;
    this.#stopped = true;
    this.host.executor.touch(this);
  }

  destroy(): void {
    this.#stopped = true;
    this.socket.destroy();
  }

  /**
   * Reserves the place of another server's reply to a command of this size; `answer` fills it. The commands after a barrier
   * run when it is answered. Where the reply may be long, few are asked for at once.
   */
  expect(bytes: number, isBarrier = false, isLong = false): Chunk {
    const chunk = new Chunk(undefined, { sequence: 0, replies: 1, reads: false, turn: 0 });
    this.#queue.push(chunk);
    this.#unanswered += 1;
    this.#forwardedBytes += bytes;
    if (isBarrier) this.#barrier = chunk;
    if (isLong) this.#longReplies.asked();
    return chunk;
  }

  /** @param bytes and `isLong` are those that were given to `expect` */
  answer(chunk: Chunk, reply: Buffer, bytes: number, isLong = false): void {
    chunk.bytes = reply;
    if (chunk === this.#barrier) this.#barrier = undefined;
    this.#unanswered -= 1;
    this.#forwardedBytes -= bytes;
    if (isLong) this.#longReplies.answered(reply.length);
    if (this.hold(reply.length)) this.host.executor.touch(this);
  }

  /**
   * Counts bytes that are kept for this client, and that are not in its queue. A client that does not read many large replies of other
   * servers is disconnected. Returns whether it is connected.
   */
  hold(bytes: number): boolean {
    this.#queuedBytes += bytes;
    if (this.#queuedBytes + this.socket.writableLength > MAX_OUTPUT_BYTES) this.socket.destroy();
    return !this.socket.destroyed;
  }

  take(chunk: Chunk): void {
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.bytes!.length;
  }

  flush(acknowledged: number, turn: number): boolean {
    if (this.socket.destroyed) return false;
    const queue = this.#queue;
    let ready = 0;
    while (ready < queue.length && queue[ready]!.isReady(acknowledged, turn)) ready += 1;
    if (ready === 1) this.#write(queue[0]!.bytes!);
    else if (ready > 1) this.#writeTogether(queue, ready);
    if (ready > 0) this.#queue = ready === queue.length ? [] : queue.slice(ready);
    if (this.#queue.length === 0 && this.#ending) this.socket.end();
    else this.#resume();
    return this.#keepQueue();
  }

  /** Keeps replies that cannot be sent yet, and those of other servers without their frames. Returns whether there are any. */
  #keepQueue(): boolean {
    let isAny = false;
    for (const chunk of this.#queue) {
      if (!chunk.bytes) continue;
      isAny = true;
      if (chunk.turn === 0) chunk.bytes = withoutRest(chunk.bytes);
    }
    return isAny;
  }

  refuse(which: (chunk: Chunk) => boolean, error: string, all: boolean): void {
    for (const [index, chunk] of this.#queue.entries()) {
      if (!chunk.bytes || !which(chunk)) continue;
      const failed = chunk.failed(error, all);
      this.#queuedBytes += failed.bytes!.length - chunk.bytes.length;
      this.#queue[index] = failed;
    }
  }

  /** Small replies are copied: one piece of memory costs the system, and Node.js, much less than several. */
  #writeTogether(queue: readonly Chunk[], count: number): void {
    const all: Buffer[] = [];
    let length = 0;
    for (let i = 0; i < count; i += 1) {
      const bytes = queue[i]!.bytes!;
      all.push(bytes);
      length += bytes.length;
    }
    if (length <= COPIED_OUTPUT_BYTES) {
      this.#write(Buffer.concat(all, length));
      return;
    }
    this.socket.cork();
    for (const bytes of all) this.#write(bytes);
    this.socket.uncork();
  }

  #write(bytes: Buffer): void {
    this.#queuedBytes -= bytes.length;
    // The socket keeps these bytes until its peer has read them, and with them the memory that they are a part of.
    this.socket.write(this.socket.writableLength > 0 ? withoutRest(bytes) : bytes);
  }

  #process(): void {
    const { executor } = this.host;
    executor.begin(this);
    let taken = 0;
    try {
      this.#held = false;
      while (!this.#stopped && this.parser.next()) {
        taken += 1;
        this.host.dispatch(this);
        if (this.#isFlooding(executor.writer.length)) {
          this.destroy();
          break;
        }
        if (executor.isFull) this.#nextTurn();
        if (executor.mustYield || this.#mustWait(executor.writer.length)) {
          this.#held = true;
          this.parser.keepUnread();
          break;
        }
      }
    } catch (error) {
      if (!(error instanceof KvError)) throw error;
      executor.fail(`ERR ${error.message}`);
      this.quit();
    }
    executor.endRun();
    if (this.#isInputOver && !this.#held) this.quit();
    if (this.#stopped) this.parser.release();
    this.#account(taken > 0);
    if (!this.#stopped && (this.#held || this.#mustWait(0))) this.socket.pause();
    else if (this.socket.isPaused()) this.socket.resume();
  }

  #nextTurn(): void {
    const { executor } = this.host;
    executor.endRun();
    executor.end();
    executor.begin(this);
  }

  /**
   * Whether a client without the password keeps too much. It is disconnected, and does not wait: its connections together would keep
   * the memory as long as they like.
   */
  #isFlooding(unsentBytes: number): boolean {
    return this.#isStranger && this.#unreadBytes(unsentBytes) > MAX_UNAUTHENTICATED_OUTPUT_BYTES;
  }

  /** Of replies. */
  #unreadBytes(unsentBytes: number): number {
    return this.#queuedBytes + this.socket.writableLength + unsentBytes;
  }

  #mustWait(unsentBytes: number): boolean {
    if (this.#barrier) return true;
    const bytes = this.#unreadBytes(unsentBytes) + this.#longReplies.bytes;
    if (bytes > PAUSE_OUTPUT_BYTES || this.#unanswered >= PAUSE_UNANSWERED) return true;
    return this.#forwardedBytes > PAUSE_FORWARDED_BYTES;
  }

  #resume(): void {
    if (this.#stopped || !this.socket.isPaused() || this.#mustWait(0)) return;
    // Held commands come before new input: the parser works in their chunk.
    if (this.#held) setImmediate(() => this.#continue());
    else this.socket.resume();
  }

  #continue(): void {
    if (this.#held && !this.socket.destroyed && !this.#mustWait(0)) this.#process();
  }

  #account(hasBegunAnew: boolean): void {
    const { unfinished } = this.host;
    const { transaction } = this;
    const bytes = this.parser.pendingBytes + (transaction?.heldBytes ?? 0);
    const wasCounted = this.#countedBytes > 0;
    this.#countedBytes = bytes;
    if (bytes === 0 && !wasCounted) {
      this.#counted = transaction;
      return;
    }
    // The memory of a transaction counts as old as its MULTI: a further command does not make it younger.
    if (hasBegunAnew && (!transaction || transaction !== this.#counted)) unfinished.set(this, 0);
    this.#counted = transaction;
    unfinished.set(this, bytes);
  }

  #closed(): void {
    clearTimeout(this.#endTimer);
    this.#stopped = true;
    this.#queue = [];
    this.host.unfinished.set(this, 0);
    this.host.executor.forget(this);
    this.host.closed(this);
  }
}

/** A copy of what is a small part of a large memory: it would keep all of that. */
function withoutRest(bytes: Buffer): Buffer {
  const { byteLength } = bytes.buffer;
  return byteLength > COPIED_OUTPUT_BYTES && 4 * bytes.length < byteLength ? Buffer.from(bytes) : bytes;
}
