import type { Buffer } from 'node:buffer';
import type { MeshConnection } from '@rdmc/mesh';
import type { Frame } from '@rdmc/mesh/sockets';
import { KvError } from '../errors.js';
import { FULL_FRAME_BYTES, MAX_FRAME_REQUESTS, MAX_LINK_BYTES, MAX_PEER_FRAME_BYTES } from '../limits.js';
import { PeerFrame, repliesIn, u32 } from './peer-frames.js';
import type { Request } from './request.js';
import { RequestFrame } from './request-frame.js';

/** The sender of requests, which hears what has become of each. */
export interface Asker {
  /** The reply has arrived. */
  answered(request: Request): void;
  /** The other server does not own the slot. */
  refused(request: Request): void;
  /** The connection ended before the reply arrived. */
  lost(request: Request): void;
}

/** The connection on which this server sends requests to another one. The requests between two calls of `flush` are one frame. */
export class PeerLink {
  readonly #ended = new AbortController();
  readonly #unanswered = new Map<number, { readonly request: Request; readonly asker: Asker }>();
  #unansweredBytes = 0;
  readonly #outgoing = new RequestFrame();
  #outgoingEpoch = 0;
  #lastId = 0;

  constructor(private readonly connection: MeshConnection) {
    connection.signal.addEventListener('abort', () => this.#end());
    connection.receive(MAX_PEER_FRAME_BYTES, (frame) => this.#receive(frame));
  }

  /** Names this connection, at both ends. */
  get session(): string {
    return this.connection.id;
  }

  /** Aborted, with the reason, when the connection has ended. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  get isOpen(): boolean {
    return this.connection.isOpen;
  }

  send(request: Request, epoch: number, asker: Asker): void {
    // A frame has the requests of one table.
    if (epoch !== this.#outgoingEpoch) this.flush();
    this.#outgoingEpoch = epoch;
    request.epoch = epoch;
    this.#lastId = (this.#lastId + 1) >>> 0;
    this.#unanswered.set(this.#lastId, { request, asker });
    this.#outgoing.add(this.#lastId, request);
    this.#unansweredBytes += request.bytes.length;
    if (this.#outgoing.bytes > FULL_FRAME_BYTES || this.#outgoing.count >= MAX_FRAME_REQUESTS) this.flush();
  }

  /** Whether the bytes that wait for the other server have reached their bound. */
  get isFull(): boolean {
    return this.#unansweredBytes > MAX_LINK_BYTES;
  }

  /** Number of requests that the next frame will have. */
  get collected(): number {
    return this.#outgoing.count;
  }

  /** Number of requests that were sent and are not answered. */
  get unanswered(): number {
    return this.#unanswered.size - this.#outgoing.count;
  }

  /** Sends the requests so far. */
  flush(): void {
    if (this.#outgoing.count > 0)
      this.connection.send(PeerFrame.REQUESTS, ...this.#outgoing.take(this.#outgoingEpoch));
  }

  /** Sends entries of slots that this server hands over. @throws KvError when the connection has ended */
  sendHandOver(number: number, records: Buffer): void {
    if (!this.connection.isOpen) throw this.#broke();
    this.connection.send(PeerFrame.HAND_OVER, u32(number), records);
  }

  close(): void {
    void this.connection.close();
  }

  #receive({ type, payload }: Frame): void {
    if (type === PeerFrame.REPLIES) this.#take(payload);
  }

  #take(payload: Buffer): void {
    for (const { id, reply } of repliesIn(payload)) {
      const found = this.#unanswered.get(id);
      if (!found) continue;
      const { request, asker } = found;
      this.#unanswered.delete(id);
      this.#unansweredBytes -= request.bytes.length;
      if (reply) {
        asker.answered(request);
        request.done(reply);
      } else asker.refused(request);
    }
  }

  #end(): void {
    const lost = [...this.#unanswered.values()];
    this.#unanswered.clear();
    this.#unansweredBytes = 0;
    this.#outgoing.clear();
    this.#ended.abort(this.#broke());
    for (const { request, asker } of lost) asker.lost(request);
  }

  #broke(): KvError {
    return new KvError(
      'ERR_RDMC_KV_MEMBER_LOST',
      `the connection with member ${this.connection.member} broke`,
    );
  }
}
