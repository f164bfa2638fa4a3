import { type DataPlane, DataPlaneError } from '@rdmc/dataplane';
import { HiPowerError } from './errors.js';
import {
  type ChannelSetup,
  Command,
  type ConnectOrder,
  decodeJson,
  Event,
  encodeJson,
  MAX_CHANNELS,
  type PairAnswer,
  PROTOCOL_NAME,
  type Trouble,
} from './records.js';

/** What a channel hears from the worker. */
export interface WorkerEvents {
  wake(): void;
  trouble(trouble: Trouble): void;
  workerDied(error: Error): void;
  /** The RDMA device of this node is gone. */
  deviceRemoved(): void;
}

const links = new WeakMap<DataPlane, WorkerLink>();

/** The application's side of `worker/`: commands to it, and its events to the channels concerned. */
export class WorkerLink {
  readonly #channels: (WorkerEvents | undefined)[] = [];

  /** The one link of a plane: all nodes on it number their channels together. */
  static of(plane: DataPlane): WorkerLink {
    let link = links.get(plane);
    if (!link) {
      link = new WorkerLink(plane);
      links.set(plane, link);
    }
    return link;
  }

  private constructor(private readonly plane: DataPlane) {
    plane.onEvent(PROTOCOL_NAME, (kind, payload) => this.#take(kind, payload));
    plane.onDeath((error) => {
      for (const events of this.#channels) events?.workerDied(error);
    });
  }

  deviceRemoved(): void {
    for (const events of this.#channels) events?.deviceRemoved();
  }

  /** A number for a new channel. @throws HiPowerError ERR_RDMC_HIPOWER_BUSY */
  take(events: WorkerEvents): number {
    let number = this.#channels.indexOf(undefined);
    if (number === -1) number = this.#channels.length;
    if (number === MAX_CHANNELS) {
      throw new HiPowerError(
        'ERR_RDMC_HIPOWER_BUSY',
        `A node has at most ${MAX_CHANNELS} channels at a time`,
      );
    }
    this.#channels[number] = events;
    return number;
  }

  async open(setup: ChannelSetup): Promise<void> {
    await this.#command(Command.OPEN, setup);
  }

  async createPair(channel: number, peer: number, generation: number): Promise<PairAnswer> {
    return decodeJson(await this.#command(Command.PAIR, { channel, peer, generation }));
  }

  /** Resolves with the transport: 'shm', 'tcp'. */
  async connect(order: ConnectOrder): Promise<string> {
    return decodeJson(await this.#command(Command.CONNECT, order));
  }

  async start(channel: number): Promise<void> {
    await this.#command(Command.START, { channel });
  }

  dismiss(channel: number, peer: number): void {
    if (!this.plane.closed) this.plane.post(PROTOCOL_NAME, Command.DISMISS, encodeJson({ channel, peer }));
  }

  /** Makes the worker look at the channel's memory. Nothing is allocated. */
  kick(channel: number): void {
    if (!this.plane.closed) this.plane.post(PROTOCOL_NAME, Command.KICK + channel);
  }

  /** Resolves when the channel's queue pairs are gone; where the worker is gone, so are they. */
  async close(channel: number): Promise<void> {
    try {
      await this.#command(Command.CLOSE, { channel });
    } catch (error) {
      if (!(error instanceof DataPlaneError)) throw error;
    } finally {
      this.#channels[channel] = undefined;
    }
  }

  #command(kind: number, value: unknown): Promise<Uint8Array> {
    return this.plane.command(PROTOCOL_NAME, kind, encodeJson(value));
  }

  #take(kind: number, payload: Uint8Array): void {
    if (kind >= Event.WAKE) {
      this.#channels[kind - Event.WAKE]?.wake();
    } else if (kind === Event.TROUBLE) {
      const trouble = decodeJson<Trouble>(payload);
      this.#channels[trouble.channel]?.trouble(trouble);
    }
  }
}
