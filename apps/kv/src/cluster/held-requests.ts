import { Buffer } from 'node:buffer';
import type { Command } from '../commands/command.js';
import type { Arguments } from '../resp/arguments.js';
import type { RespVersion } from '../resp/writer.js';
import { addSlots, ownsAll } from './owned.js';

/** A request of another server. */
export interface PeerRequest {
  readonly id: number;
  readonly version: RespVersion;
  readonly bytes: Buffer;
  /** Of one that was held: the epoch of its frame. */
  readonly epoch?: number;
}

/** A frame of requests. */
export interface RequestsFrame {
  /** Of the slot table that they were sent by. */
  readonly epoch: number;
  /** Whether this server has that table. */
  hasTable: boolean;
}

interface Held {
  readonly request: PeerRequest;
  readonly frame: RequestsFrame;
}

/**
 * The requests of a connection that wait for a slot table, in order. Requests for other slots pass them; those for the same slots stay
 * behind them, whoever owns these meanwhile: a client may have sent both without waiting for the first reply.
 */
export class HeldRequests {
  readonly #queue: Held[] = [];
  /** The slots of those in the queue, and perhaps of some that have left it. */
  readonly #slots = new Set<number>();
  /** Whether a command for all slots has been held since the queue was empty. */
  #isWhole = false;
  /** Of the requests in the queue. */
  bytes = 0;

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  /** Whether a request must wait for one that is held. */
  blocks(command: Command, args: Arguments): boolean {
    if (this.#queue.length === 0) return false;
    if (this.#isWhole || command.route === 'everywhere') return true;
    return !ownsAll(command, args, (slot) => !this.#slots.has(slot));
  }

  /** Copies the bytes: they are a part of a frame, which may be much longer. */
  add(request: PeerRequest, frame: RequestsFrame, command: Command, args: Arguments): void {
    const { id, version, bytes } = request;
    this.#queue.push({ request: { id, version, bytes: Buffer.from(bytes), epoch: frame.epoch }, frame });
    this.bytes += bytes.length;
    if (command.route === 'everywhere') this.#isWhole = true;
    else addSlots(command, args, this.#slots);
  }

  /** Those that can be run now, in order. Each leaves the queue, and blocks others no more, when the next one is asked for. */
  *ready(): Generator<PeerRequest, void, void> {
    for (let first = this.#queue[0]; first?.frame.hasTable; first = this.#queue[0]) {
      yield first.request;
      if (this.#queue[0] !== first) return;
      this.#queue.shift();
      this.bytes -= first.request.bytes.length;
    }
    if (this.#queue.length === 0) this.clear();
  }

  /** Forgets them. */
  clear(): void {
    this.#queue.length = 0;
    this.bytes = 0;
    this.#slots.clear();
    this.#isWhole = false;
  }
}
