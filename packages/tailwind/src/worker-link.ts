import type { DataPlane } from '@rdmc/dataplane';
import type { QueuePairAddress } from '@rdmc/verbs';
import type { LinkPlane } from './local-plane.js';
import {
  type ChannelSetup,
  Command,
  decodeJson,
  decodeNumbers,
  Event,
  encodeJson,
  encodeNumbers,
  type LostTarget,
  type PairSetup,
  PROTOCOL_NAME,
  type ReadSetup,
  type TargetReplacement,
} from './records.js';

/** What the application hears of a channel. */
export interface ChannelListener {
  acknowledged(sequence: number): void;
  lost(target: number, reason: string): void;
  caughtUp(target: number): void;
}

const links = new WeakMap<DataPlane, WorkerLink>();

/** The application's side of `worker/`: commands to it, and its events to the channels concerned. */
export class WorkerLink {
  readonly #listeners = new Map<number, ChannelListener>();
  #lastNumber = 0;

  /** Of a data plane there is one: see `of`. */
  constructor(private readonly plane: LinkPlane) {
    plane.onEvent(PROTOCOL_NAME, (kind, payload) => this.#take(kind, payload));
  }

  /** One per data plane: numbers are never used twice. */
  static of(plane: DataPlane): WorkerLink {
    let link = links.get(plane);
    if (!link) {
      link = new WorkerLink(plane);
      links.set(plane, link);
    }
    return link;
  }

  /** A fresh number, for a pair, a channel, a target or a key. */
  number(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  async createPair(setup: PairSetup): Promise<QueuePairAddress> {
    return decodeJson(await this.#command(Command.PAIR, encodeJson(setup)));
  }

  /** Resolves with the transport: 'shm', 'tcp'. */
  async connect(pair: number, address: QueuePairAddress, retryTimeoutMs: number): Promise<string> {
    return decodeJson(await this.#command(Command.CONNECT, encodeJson({ pair, address, retryTimeoutMs })));
  }

  /** Targets on the pair are lost at once; resolves when the device has let go of all memory. */
  async drop(pair: number): Promise<void> {
    await this.#command(Command.DROP, encodeNumbers(pair));
  }

  async openChannel(setup: ChannelSetup, listener: ChannelListener): Promise<void> {
    this.#listeners.set(setup.channel, listener);
    await this.#command(Command.CHANNEL, encodeJson(setup));
  }

  append(channel: number, sequence: number, offset: number, lengthBytes: number): void {
    this.plane.post(PROTOCOL_NAME, Command.APPEND, encodeNumbers(channel, sequence, offset, lengthBytes));
  }

  replace(replacement: TargetReplacement): void {
    this.plane.post(PROTOCOL_NAME, Command.REPLACE, encodeJson(replacement));
  }

  resume(channel: number): void {
    this.plane.post(PROTOCOL_NAME, Command.RESUME, encodeNumbers(channel));
  }

  async endChannel(channel: number): Promise<void> {
    this.#listeners.delete(channel);
    await this.#command(Command.END, encodeNumbers(channel));
  }

  async read(setup: ReadSetup): Promise<void> {
    await this.#command(Command.READ, encodeJson(setup));
  }

  async admit(pair: number, key: number, address: number, lengthBytes: number): Promise<void> {
    await this.#command(Command.ADMIT, encodeNumbers(pair, key, address, lengthBytes));
  }

  async evict(key: number): Promise<void> {
    await this.#command(Command.EVICT, encodeNumbers(key));
  }

  #command(kind: number, payload: Uint8Array): Promise<Uint8Array> {
    return this.plane.command(PROTOCOL_NAME, kind, payload);
  }

  #take(kind: number, payload: Uint8Array): void {
    if (kind === Event.LOST) {
      const { channel, target, reason } = decodeJson<LostTarget>(payload);
      this.#listeners.get(channel)?.lost(target, reason);
      return;
    }
    const [channel, value] = decodeNumbers(payload) as [number, number];
    const listener = this.#listeners.get(channel);
    if (kind === Event.ACKED) listener?.acknowledged(value);
    else if (kind === Event.CAUGHT_UP) listener?.caughtUp(value);
  }
}
