import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { encodeFrame, FrameReader } from '@rdmc/mesh';
import { KvError } from '../errors.js';
import {
  FULL_FRAME_BYTES,
  MAX_FRAME_PARTS,
  MAX_LINK_BYTES,
  MAX_PEER_FRAME_BYTES,
  TAKEOVER_WINDOW_BYTES,
} from '../limits.js';
import { helloFrame, PeerFrame, repliesIn, requestHeader, SESSION_BYTES, u32 } from './peer-frames.js';
import type { Request } from './request.js';

/** Who has a request sent, and hears what the other server did not do. */
export interface Asker {
  /** The other server does not own the slot. */
  refused(request: Request): void;
  /** The connection ended before the reply was here. */
  lost(request: Request): void;
}

/** The connection on which this server asks another one. What is asked in one turn is one frame. */
export class PeerLink {
  /** Names this connection, at both ends. */
  readonly session = randomBytes(SESSION_BYTES).toString('hex');
  readonly #closed = new AbortController();
  readonly #reader = new FrameReader(MAX_PEER_FRAME_BYTES);
  readonly #unanswered = new Map<number, { readonly request: Request; readonly asker: Asker }>();
  #unansweredBytes = 0;
  #outgoing: Buffer[] = [];
  #outgoingBytes = 0;
  #outgoingEpoch = 0;
  #lastId = 0;

  constructor(
    readonly member: number,
    private readonly socket: Socket,
    self: number,
  ) {
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('close', () => this.#end());
    socket.write(helloFrame(self, this.session));
  }

  /** Aborted, with the reason, when the connection has ended. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  get isOpen(): boolean {
    return !this.socket.destroyed;
  }

  send(request: Request, epoch: number, asker: Asker): void {
    this.#outgoingEpoch = epoch;
    request.epoch = epoch;
    this.#lastId = (this.#lastId + 1) >>> 0;
    this.#unanswered.set(this.#lastId, { request, asker });
    this.#outgoing.push(requestHeader(this.#lastId, request.version, request.bytes.length), request.bytes);
    this.#outgoingBytes += request.bytes.length;
    this.#unansweredBytes += request.bytes.length;
    if (this.#outgoingBytes > FULL_FRAME_BYTES || this.#outgoing.length >= MAX_FRAME_PARTS) this.flush();
  }

  /** As much waits for the other server as may. */
  get isFull(): boolean {
    return this.#unansweredBytes > MAX_LINK_BYTES;
  }

  /** Sends what was asked in this turn. */
  flush(): void {
    if (this.#outgoing.length === 0) return;
    const frame = encodeFrame(PeerFrame.REQUESTS, u32(this.#outgoingEpoch), ...this.#outgoing);
    this.#outgoing = [];
    this.#outgoingBytes = 0;
    this.socket.write(frame);
  }

  /**
   * Sends entries of a dead server's log; resolves when there is room for more.
   * @throws KvError when the connection has ended; an AbortError when the signal is aborted while there is no room
   */
  async sendRecords(takeover: number, records: readonly Buffer[], signal: AbortSignal): Promise<void> {
    if (this.socket.destroyed) throw this.#broke();
    this.socket.write(encodeFrame(PeerFrame.RECORDS, u32(takeover), Buffer.concat(records)));
    while (this.socket.writableLength > TAKEOVER_WINDOW_BYTES) await once(this.socket, 'drain', { signal });
  }

  close(): void {
    this.socket.destroy();
  }

  #receive(chunk: Buffer): void {
    try {
      this.#reader.push(chunk);
      for (let frame = this.#reader.next(); frame; frame = this.#reader.next()) {
        if (frame.type === PeerFrame.REPLIES) this.#take(frame.payload);
      }
    } catch (error) {
      this.socket.destroy(error as Error);
    }
  }

  #take(payload: Buffer): void {
    for (const { id, reply } of repliesIn(payload)) {
      const found = this.#unanswered.get(id);
      if (!found) continue;
      const { request, asker } = found;
      this.#unanswered.delete(id);
      this.#unansweredBytes -= request.bytes.length;
      if (reply) request.done(reply);
      else asker.refused(request);
    }
  }

  #end(): void {
    const lost = [...this.#unanswered.values()];
    this.#unanswered.clear();
    this.#unansweredBytes = 0;
    this.#outgoing = [];
    this.#closed.abort(this.#broke());
    for (const { request, asker } of lost) asker.lost(request);
  }

  #broke(): KvError {
    return new KvError('ERR_RDMC_KV_MEMBER_LOST', `the connection with member ${this.member} broke`);
  }
}
