import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { SilenceTimer } from '@rdmc/common';
import { CLOSE_TICKS, CLOSE_TIMEOUT_MS } from './constants.js';
import { MeshError, protocolError } from './errors.js';
import type { FrameReader } from './frame-reader.js';
import { encodeFrame, type Frame, FrameType } from './frames.js';
import type { Hello } from './hello.js';

/** A connection whose handshake is complete. */
export interface Introduced {
  readonly socket: Socket;
  readonly reader: FrameReader;
  readonly hello: Hello;
}

export interface LinkEvents {
  /** May throw ERR_RDMC_MESH_PROTOCOL, which ends the link. */
  frame(link: Link, frame: Frame): void;
  /** Called once, unless this end closed the link itself. */
  down(link: Link, error: MeshError): void;
}

/** The one connection to one peer. */
export class Link {
  readonly peer: number;
  readonly hello: Hello;
  /** Whether bytes have arrived since this was last cleared. */
  heard = true;
  /** Counted by `Heartbeats`: how long no bytes arrived while this process could read. */
  silentMs = 0;
  /** Counted by `Heartbeats`: its ticks since this end sent a frame. */
  idleTicks = 0;
  /** The same since this end sent a heartbeat. */
  heartbeatTicks = 0;
  /** Noted by `Heartbeats` at its last tick: this end does not watch the peer closely. */
  isDistant = false;
  /** What the last heartbeat told the peer about that. */
  saidDistant = false;
  /** What the peer's last heartbeat said: it does not watch this end closely. */
  peerIsDistant = false;
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly #events: LinkEvents;
  #done = false;

  constructor({ socket, reader, hello }: Introduced, maxFrameBytes: number, events: LinkEvents) {
    this.peer = hello.from;
    this.hello = hello;
    this.#socket = socket;
    this.#reader = reader;
    this.#events = events;
    reader.limitBytes = maxFrameBytes;
  }

  /** Starts to give out frames, first those that were read together with the HELLO. */
  start(): void {
    const socket = this.#socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('end', () => this.#down('its connection ended without a LEAVE'));
    socket.on('error', (error) => this.#down(`its connection failed: ${error.message}`, error));
    socket.on('close', () => this.#down('its connection was closed'));
    if (socket.destroyed) {
      setImmediate(() => this.#down('its connection was closed'));
      return;
    }
    this.#drain();
    socket.resume();
  }

  /** Its first heartbeat is sent so many ticks later. */
  delayHeartbeat(ticks: number): void {
    this.idleTicks = -ticks;
    this.heartbeatTicks = -ticks;
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  /** 'TLSv1.3', or undefined for a connection in the clear. */
  get protocol(): string | undefined {
    return this.#socket instanceof TLSSocket ? (this.#socket.getProtocol() ?? undefined) : undefined;
  }

  /** The connection keeps the process alive, as it does at first. */
  ref(): void {
    this.#socket.ref();
  }

  unref(): void {
    this.#socket.unref();
  }

  send(frame: Buffer): void {
    if (this.#done) return;
    this.idleTicks = 0;
    this.#socket.write(frame);
  }

  /** Sends LEAVE, then waits until the peer has read it, at most CLOSE_TIMEOUT_MS. */
  leave(): Promise<void> {
    this.#done = true;
    return new Promise((resolve) => {
      if (this.#socket.closed) {
        resolve();
        return;
      }
      cutLater(this.#socket);
      this.#socket.once('close', () => resolve());
      this.#socket.end(encodeFrame(FrameType.LEAVE));
    });
  }

  /** Ends the link, after a last frame if one is given. No event follows. */
  dismiss(lastFrame?: Buffer): void {
    const socket = this.#socket;
    this.#done = true;
    if (lastFrame === undefined || socket.destroyed) {
      socket.destroy();
      return;
    }
    cutLater(socket).unref();
    socket.write(lastFrame);
    socket.destroySoon();
  }

  #receive(chunk: Buffer): void {
    this.heard = true;
    // After LEAVE the bytes are read and dropped, so that the peer's end arrives.
    if (this.#done) return;
    this.#reader.push(chunk);
    this.#drain();
  }

  #drain(): void {
    try {
      while (!this.#done) {
        const frame = this.#reader.next();
        if (frame === undefined) return;
        this.#events.frame(this, frame);
      }
    } catch (error) {
      const fault = error instanceof MeshError ? error : protocolError(String(error));
      this.#fail(fault);
    }
  }

  #down(reason: string, cause?: Error): void {
    this.#fail(new MeshError('ERR_RDMC_MESH_MEMBER_LOST', reason, { cause, memberId: this.peer }));
  }

  #fail(error: MeshError): void {
    if (this.#done) return;
    this.#done = true;
    this.#socket.destroy();
    this.#events.down(this, error);
  }
}

/**
 * Destroys a socket whose peer does not read, after CLOSE_TIMEOUT_MS. While this process was stopped or busy it did not send,
 * and the peer could not read.
 */
function cutLater(socket: Socket): SilenceTimer {
  const timer = new SilenceTimer(CLOSE_TIMEOUT_MS / CLOSE_TICKS, CLOSE_TIMEOUT_MS, () => socket.destroy());
  socket.once('close', () => timer.stop());
  return timer;
}
