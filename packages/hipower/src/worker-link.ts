import { DataPlaneError, type ProtocolClient } from '@rdmc/dataplane';
import type { NodeContext } from '@rdmc/node';
import { HiPowerError } from './errors.js';
import { type HiPowerRecords, MAX_CHANNELS, type Trouble } from './records.js';

/** The worker's events for a channel. */
export interface WorkerEvents {
  wake(): void;
  trouble(trouble: Trouble): void;
  workerDied(error: Error): void;
  /** The RDMA device of this node was removed. */
  deviceRemoved(): void;
}

/** The application's side of `worker/`: sends commands to it, and passes its events to the channels. */
export class WorkerLink {
  readonly commands: ProtocolClient<HiPowerRecords>;
  readonly #channels: (WorkerEvents | undefined)[] = [];

  constructor(context: NodeContext<HiPowerRecords>) {
    this.commands = context.connect(
      {
        wake: (channel) => this.#channels[channel]?.wake(),
        trouble: (trouble) => this.#channels[trouble.channel]?.trouble(trouble),
      },
      (error) => {
        for (const events of this.#channels) events?.workerDied(error);
      },
    );
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
        `A node has at most ${MAX_CHANNELS} channels at a time; close one first`,
      );
    }
    this.#channels[number] = events;
    return number;
  }

  /** Resolves when the channel's queue pairs are closed; if the protocol has ended, they are. */
  async close(channel: number): Promise<void> {
    try {
      await this.commands.close(channel);
    } catch (error) {
      if (!(error instanceof DataPlaneError)) throw error;
    } finally {
      this.#channels[channel] = undefined;
    }
  }
}
