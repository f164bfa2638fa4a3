import { type Subscription, subscription } from '@rdmc/common';
import {
  type DataPlane,
  type DataPlaneError,
  type EndListener,
  type EventHandlers,
  InlineDriver,
  type ProtocolClient,
} from '@rdmc/dataplane';
import type { NodeContext } from '@rdmc/node';
import { TailwindError } from './errors.js';
import { type ChannelSetup, PROTOCOL_NAME, type TailwindRecords } from './records.js';
import { tailwindWorker } from './worker/tailwind-protocol.js';

/** Events of one channel, for the application's side. */
export interface ChannelListener {
  acknowledged(sequence: number): void;
  lost(target: number, reason: string): void;
  caughtUp(target: number): void;
}

/** The application's side of `worker/`: the commands to it, and its events to the channels concerned. */
export class WorkerLink {
  commands!: ProtocolClient<TailwindRecords>;
  readonly #listeners = new Map<number, ChannelListener>();
  readonly #endListeners = new Set<EndListener>();
  #end: DataPlaneError | undefined;
  #driver: InlineDriver<TailwindRecords> | undefined;
  #lastNumber = 0;

  private constructor(private readonly plane: DataPlane) {}

  /** Connects to the protocol in the node's worker. One per node: numbers are never used twice. */
  static connect({ plane, connect }: Pick<NodeContext<TailwindRecords>, 'plane' | 'connect'>): WorkerLink {
    const link = new WorkerLink(plane);
    link.commands = connect(link.#events(), link.#ended);
    return link;
  }

  /**
   * Runs a protocol of its own in this thread.
   * @throws VerbsError, DataPlaneError as `InlineDriver.open`
   */
  static async inline(plane: DataPlane): Promise<WorkerLink> {
    const link = new WorkerLink(plane);
    link.#driver = await InlineDriver.open(plane, {
      name: PROTOCOL_NAME,
      worker: tailwindWorker,
      events: link.#events(),
      onEnd: link.#ended,
    });
    link.commands = link.#driver.client;
    return link;
  }

  /**
   * Calls the listener once when the protocol ends: it threw, or the data plane died. If it has ended already, the
   * listener is called soon. A close is not such an end.
   */
  onEnd(listener: EndListener): Subscription {
    const end = this.#end;
    if (end) queueMicrotask(() => listener(end));
    else this.#endListeners.add(listener);
    return subscription(() => this.#endListeners.delete(listener));
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

  /** @throws TailwindError ERR_RDMC_LOG_CLOSED when the data plane is closed */
  append(channel: number, sequence: number, offset: number, byteLength: number): void {
    if (this.plane.signal.aborted) {
      throw new TailwindError('ERR_RDMC_LOG_CLOSED', 'The data plane of this log is closed');
    }
    this.commands.append(channel, sequence, offset, byteLength);
  }

  async endChannel(channel: number): Promise<void> {
    this.#listeners.delete(channel);
    await this.commands.endChannel(channel);
  }

  /** Resolves when the device does not use any memory any more. The link to a worker stays: others use it. */
  async close(): Promise<void> {
    await this.#driver?.close();
  }

  readonly #ended: EndListener = (error) => {
    this.#end = error;
    for (const listener of this.#endListeners) listener(error);
    this.#endListeners.clear();
  };

  #events(): EventHandlers<TailwindRecords> {
    return {
      acknowledged: (channel, sequence) => this.#listeners.get(channel)?.acknowledged(sequence),
      lost: ({ channel, target, reason }) => this.#listeners.get(channel)?.lost(target, reason),
      caughtUp: (channel, target) => this.#listeners.get(channel)?.caughtUp(target),
    };
  }
}
