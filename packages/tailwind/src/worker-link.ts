import {
  type DataPlane,
  type EndListener,
  type EventHandlers,
  InlineDriver,
  type ProtocolClient,
} from '@rdmc/dataplane';
import { TailwindError } from './errors.js';
import { type ChannelSetup, PROTOCOL_NAME, type TailwindRecords, tailwindRecords } from './records.js';
import { tailwindWorker } from './worker/tailwind-protocol.js';

/** What the application hears of a channel. */
export interface ChannelListener {
  acknowledged(sequence: number): void;
  lost(target: number, reason: string): void;
  caughtUp(target: number): void;
}

const links = new WeakMap<DataPlane, WorkerLink>();

/** The application's side of `worker/`: the commands to it, and its events to the channels concerned. */
export class WorkerLink {
  commands!: ProtocolClient<TailwindRecords>;
  readonly #listeners = new Map<number, ChannelListener>();
  #driver: InlineDriver<TailwindRecords> | undefined;
  #lastNumber = 0;

  private constructor(private readonly plane: DataPlane) {}

  /** To the protocol in the plane's worker. One per data plane: numbers are never used twice. */
  static of(plane: DataPlane): WorkerLink {
    let link = links.get(plane);
    if (!link) {
      link = new WorkerLink(plane);
      link.commands = plane.connect(PROTOCOL_NAME, tailwindRecords, link.#events());
      links.set(plane, link);
    }
    return link;
  }

  /** To a protocol of its own, which runs in this thread. */
  static async inline(plane: DataPlane, onEnd: EndListener): Promise<WorkerLink> {
    const link = new WorkerLink(plane);
    link.#driver = await InlineDriver.start(plane, {
      name: PROTOCOL_NAME,
      worker: tailwindWorker,
      events: link.#events(),
      onEnd,
    });
    link.commands = link.#driver.client;
    return link;
  }

  /** A fresh number, for a pair, a channel, a target or a key. */
  number(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  async openChannel(setup: ChannelSetup, listener: ChannelListener): Promise<void> {
    this.#listeners.set(setup.channel, listener);
    await this.commands.openChannel(setup);
  }

  /** @throws TailwindError ERR_RDMC_LOG_CLOSED when the data plane is gone */
  append(channel: number, sequence: number, offset: number, lengthBytes: number): void {
    if (this.plane.closed) {
      throw new TailwindError('ERR_RDMC_LOG_CLOSED', 'The data plane of this log is closed');
    }
    this.commands.append(channel, sequence, offset, lengthBytes);
  }

  async endChannel(channel: number): Promise<void> {
    this.#listeners.delete(channel);
    await this.commands.endChannel(channel);
  }

  /** Resolves when the device has let go of all memory. The link to a worker stays: others use it. */
  async close(): Promise<void> {
    await this.#driver?.close();
  }

  #events(): EventHandlers<TailwindRecords> {
    return {
      acknowledged: (channel, sequence) => this.#listeners.get(channel)?.acknowledged(sequence),
      lost: ({ channel, target, reason }) => this.#listeners.get(channel)?.lost(target, reason),
      caughtUp: (channel, target) => this.#listeners.get(channel)?.caughtUp(target),
    };
  }
}
