import type { DataPlane } from '@rdmc/dataplane';
import {
  Command,
  decodeJson,
  decodeNumbers,
  Event,
  encodeJson,
  encodeNumbers,
  type GroupSetup,
  type PairAddress,
  PROTOCOL_NAME,
  type Trouble,
} from './records.js';

/** What a group hears from the worker. */
export interface WorkerEvents {
  incoming(message: number, sizeBytes: number): void;
  finished(message: number): void;
  trouble(trouble: Trouble): void;
}

/** The application's side of `worker/`: commands to it, and its events to the groups concerned. */
export class WorkerLink {
  readonly #listeners = new Map<number, WorkerEvents>();

  constructor(private readonly plane: DataPlane) {
    plane.onEvent(PROTOCOL_NAME, (kind, payload) => this.#take(kind, payload));
  }

  async open(setup: GroupSetup, events: WorkerEvents): Promise<void> {
    this.#listeners.set(setup.group, events);
    await this.#command(Command.OPEN, encodeJson(setup));
  }

  async createPair(group: number, pair: number): Promise<PairAddress> {
    return decodeJson(await this.#command(Command.PAIR, encodeJson({ group, pair })));
  }

  /** Resolves with the transport: 'shm', 'tcp'. */
  async connect(group: number, pair: number, address: PairAddress): Promise<string> {
    return decodeJson(await this.#command(Command.CONNECT, encodeJson({ group, pair, address })));
  }

  async start(group: number): Promise<void> {
    await this.#command(Command.START, encodeNumbers(group));
  }

  send(
    group: number,
    message: number,
    address: number,
    lkey: number,
    sizeBytes: number,
    blockBytes: number,
  ): void {
    this.#post(Command.SEND, encodeNumbers(group, message, address, lkey, sizeBytes, blockBytes));
  }

  place(group: number, message: number, address: number, lkey: number): void {
    this.#post(Command.PLACE, encodeNumbers(group, message, address, lkey));
  }

  /** Resolves when the group's queue pairs are gone; where the worker is gone, so are they. */
  async abort(group: number): Promise<void> {
    try {
      await this.#command(Command.ABORT, encodeNumbers(group));
    } catch (error) {
      if (!this.plane.closed) throw error;
    } finally {
      this.#listeners.delete(group);
    }
  }

  #command(kind: number, payload: Uint8Array): Promise<Uint8Array> {
    return this.plane.command(PROTOCOL_NAME, kind, payload);
  }

  #post(kind: number, payload: Uint8Array): void {
    if (!this.plane.closed) this.plane.post(PROTOCOL_NAME, kind, payload);
  }

  #take(kind: number, payload: Uint8Array): void {
    if (kind === Event.TROUBLE) {
      const trouble = decodeJson<Trouble>(payload);
      this.#listeners.get(trouble.group)?.trouble(trouble);
      return;
    }
    const [group, message, sizeBytes] = decodeNumbers(payload);
    const events = this.#listeners.get(group!);
    if (kind === Event.INCOMING) events?.incoming(message!, sizeBytes!);
    else if (kind === Event.FINISHED) events?.finished(message!);
  }
}
