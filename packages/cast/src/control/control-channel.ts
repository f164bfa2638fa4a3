import type { Socket } from 'node:net';
import { readShape, type Shape } from '@rdmc/common/shapes';
import { describeAddress, encodeFrame, FrameReader } from '@rdmc/mesh/sockets';
import { CAST_PROTOCOL_VERSION, LAST_FRAME_TIMEOUT_MS, MAX_CONTROL_FRAME_BYTES } from '../constants.js';
import { CastError, codeOf, messageOf, protocolError } from '../errors.js';

/**
 * One end of a control connection. Iterating gives the other end's frames, and ends with the connection; one consumer.
 * Frames are limited in size and validated.
 */
export class ControlChannel<Sent extends object, Received> implements AsyncIterable<Received> {
  readonly #reader = new FrameReader(MAX_CONTROL_FRAME_BYTES);
  #shape: Shape<unknown>;

  constructor(
    readonly socket: Socket,
    shape: Shape<Received>,
    /** Describes the other end in messages. */
    readonly peer: string,
  ) {
    this.#shape = shape;
    socket.on('error', () => {});
  }

  /**
   * From now on, the ends exchange other frames over this connection. Returns this channel, and the iterator of its frames,
   * which goes on. Call it before the first of the other frames is asked for.
   */
  become<S extends object, R>(shape: Shape<R>, frames: AsyncIterator<Received, void, undefined>) {
    this.#shape = shape;
    const channel = this as unknown as ControlChannel<S, R>;
    return { channel, frames: frames as unknown as AsyncIterator<R, void, undefined> };
  }

  /** Address of this end. The other end sees the same one unless addresses are translated (NAT). */
  get localHost(): string {
    return plainAddress(this.socket.localAddress);
  }

  get remoteHost(): string {
    return plainAddress(this.socket.remoteAddress);
  }

  send(frame: Sent): void {
    this.sendEncoded(encodeControlFrame(frame));
  }

  /** Sends a frame that was encoded once for many receivers. */
  sendEncoded(frame: Buffer): void {
    if (this.socket.writable) this.socket.write(frame);
  }

  /** Sends a last frame, and waits until the other end has read it, for at most `LAST_FRAME_TIMEOUT_MS`. */
  end(lastFrame?: Sent): Promise<void> {
    if (this.socket.closed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.socket.destroy(), LAST_FRAME_TIMEOUT_MS);
      this.socket.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      if (this.socket.destroyed) return;
      if (lastFrame !== undefined) this.send(lastFrame);
      this.socket.end();
      // The iteration may have ended; unread bytes of the other end would prevent the 'close' event.
      this.socket.resume();
    });
  }

  /** Closes it immediately; the consumer gets the error. */
  destroy(error?: Error): void {
    this.socket.destroy(error);
  }

  /** @throws CastError ERR_RDMC_CAST_PROTOCOL, ERR_RDMC_VERSION_MISMATCH; or the error of the connection */
  async *[Symbol.asyncIterator](): AsyncGenerator<Received, void, undefined> {
    // A malformed frame must not close the socket before the other end is told.
    for await (const chunk of this.socket.iterator({ destroyOnReturn: false })) {
      this.#reader.push(chunk as Buffer);
      for (let frame = this.#next(); frame !== undefined; frame = this.#next()) yield frame;
    }
  }

  #next(): Received | undefined {
    const frame = this.#cut();
    if (frame === undefined) return undefined;
    if (frame.type !== CAST_PROTOCOL_VERSION) throw versionMismatch(this.peer, frame.type);
    const body = this.#json(frame.payload);
    try {
      return readShape(this.#shape, body) as Received;
    } catch (error) {
      throw protocolError(`${this.peer} sent a malformed frame: ${messageOf(error)}`, error);
    }
  }

  #cut() {
    try {
      return this.#reader.next();
    } catch (error) {
      throw protocolError(`${this.peer} did not send a frame: ${messageOf(error)}`, error);
    }
  }

  #json(payload: Buffer): unknown {
    try {
      return JSON.parse(payload.toString('utf8'));
    } catch (cause) {
      throw protocolError(`${this.peer} sent a frame that is not JSON: ${messageOf(cause)}`, cause);
    }
  }
}

export function encodeControlFrame(frame: object): Buffer {
  return encodeFrame(CAST_PROTOCOL_VERSION, Buffer.from(JSON.stringify(frame)));
}

export function versionMismatch(peer: string, theirs: number): CastError {
  return new CastError(
    'ERR_RDMC_VERSION_MISMATCH',
    `${peer} uses version ${theirs} of the cast protocol, and this end version ${CAST_PROTOCOL_VERSION}; ` +
      'install the same release of @rdmc/cast at both ends',
  );
}

/** Strips the `::ffff:` prefix of IPv4-mapped IPv6 addresses. */
function plainAddress(address = ''): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address;
}

export function peerOf(socket: Socket): string {
  return describeAddress({ host: plainAddress(socket.remoteAddress), port: socket.remotePort ?? 0 });
}

/** Why a connection ended, for messages. */
export function reasonOf(error: unknown): string {
  if (error === undefined) return 'its control connection ended';
  const code = codeOf(error);
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'its control connection was reset';
  return messageOf(error);
}
