import type { Socket } from 'node:net';
import { Lifetime, type Subscription, subscription } from '@rdmc/common';
import { AbortError, MeshError, messageOf, protocolError, throwIfAborted } from './errors.js';
import type { FrameReader } from './frame-reader.js';
import { encodeFrame, type Frame } from './frames.js';
import type { Introduced } from './link.js';

/** Handles a frame of a connection. Where it returns a promise, the next frame is not read until that resolves. */
export type FrameHandler = (frame: Frame) => void | Promise<void>;

/**
 * A connection with another member beside the one of the mesh: for data that would delay the mesh's own frames, or that
 * needs flow control of its own. Both ends have proved the key and are members of the same mesh. Frames have a type and a
 * payload, whose meaning the application defines. Frames are not read before `receive`.
 */
export class MeshConnection {
  /** The other end. */
  readonly member: number;
  /** Random, the same at both ends, and not known to other members: 32 hexadecimal digits. */
  readonly id: string;
  /** The highest level that both ends speak (`Levels` of @rdmc/common): frames of a higher one must not be sent. */
  readonly level: number;
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly #lifetime = new Lifetime();
  #take: FrameHandler | undefined;
  #isWaiting = false;

  /** @internal Use `Mesh.openConnection` and `Mesh.onConnection`. */
  constructor({ socket, reader, hello }: Introduced, id: string, level: number) {
    this.member = hello.from;
    this.id = id;
    this.level = level;
    this.#socket = socket;
    this.#reader = reader;
    const onClose = (): void => {
      this.#lifetime.end(lost(this.member, socket.errored));
      this.#lifetime.free();
    };
    if (socket.closed) setImmediate(onClose);
    else socket.on('close', onClose);
  }

  /** Aborted, with the reason, when the connection has ended. */
  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  /** Resolves when its socket is closed. */
  get closed(): Promise<void> {
    return this.#lifetime.closed;
  }

  /** Whether the connection is open. */
  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Bytes that are queued and that the system has not taken yet. The application bounds them. */
  get bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  /** Queues a frame; its parts are copied. After the end of the connection the call has no effect. */
  send(type: number, ...parts: readonly Buffer[]): void {
    if (this.isOpen) this.#socket.write(encodeFrame(type, ...parts));
  }

  /**
   * Takes each frame from now on, in order. The connection ends when the handler throws or rejects, and with
   * ERR_RDMC_MESH_PROTOCOL at a frame of more than `maxFrameBytes`.
   */
  receive(maxFrameBytes: number, take: FrameHandler): void {
    if (this.#take !== undefined) throw new Error('this connection has a handler of its frames already');
    this.#take = take;
    this.#reader.limitBytes = maxFrameBytes;
    this.#socket.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#drain(take);
    });
    this.#drain(take);
    if (!this.#isWaiting) this.#socket.resume();
  }

  /** Calls the listener each time the system has taken all queued bytes. */
  onDrain(listener: () => void): Subscription {
    this.#socket.on('drain', listener);
    return subscription(() => this.#socket.off('drain', listener));
  }

  /**
   * Resolves when there is room for more: at once where little is queued, else when the system has taken all of it.
   * @throws why the connection ended; AbortError
   */
  async drained(abort?: AbortSignal): Promise<void> {
    const what = `waiting for member ${this.member} to read`;
    throwIfAborted(what, abort);
    const { signal } = this;
    if (signal.aborted) throw signal.reason;
    if (!this.#socket.writableNeedDrain) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (act: () => void) => () => {
        drains.close();
        signal.removeEventListener('abort', onEnd);
        abort?.removeEventListener('abort', onAbort);
        act();
      };
      const onEnd = settle(() => reject(signal.reason));
      const onAbort = settle(() => reject(new AbortError(what, abort!)));
      const drains = this.onDrain(settle(resolve));
      signal.addEventListener('abort', onEnd);
      abort?.addEventListener('abort', onAbort);
    });
  }

  /** Ends the connection at once; queued frames may be lost. */
  close(reason: Error = closedHere()): Promise<void> {
    this.#socket.destroy();
    this.#lifetime.end(reason);
    return this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #drain(take: FrameHandler): void {
    try {
      while (!this.#isWaiting && this.isOpen) {
        const frame = this.#reader.next();
        if (frame === undefined) return;
        const work = take(frame);
        if (work !== undefined) this.#wait(work, take);
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #wait(work: Promise<void>, take: FrameHandler): void {
    this.#isWaiting = true;
    this.#socket.pause();
    work.then(
      () => {
        this.#isWaiting = false;
        this.#drain(take);
        if (!this.#isWaiting) this.#socket.resume();
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #fail(error: unknown): void {
    void this.close(error instanceof Error ? error : protocolError(messageOf(error)));
  }
}

function closedHere(): MeshError {
  return new MeshError('ERR_RDMC_MESH_CLOSED', 'this end closed the connection');
}

function lost(memberId: number, cause?: Error | null): MeshError {
  const why = cause ? `: ${cause.message}` : '';
  const text = `the connection with member ${memberId} ended${why}`;
  return new MeshError('ERR_RDMC_MESH_CONNECTION_LOST', text, { memberId, ...(cause && { cause }) });
}
