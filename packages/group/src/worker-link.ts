import { DataPlaneError, type EndListener, type ProtocolClient, ProtocolError } from '@rdmc/dataplane';
import type { NodeContext } from '@rdmc/node';
import type { GroupRecords, GroupSetup, Trouble } from './records.js';

/** What a group hears from the worker. */
export interface WorkerEvents {
  incoming(message: number, byteLength: number): void;
  finished(message: number): void;
  trouble(trouble: Trouble): void;
}

/** The application's side of `worker/`: the commands to it, and its events to the groups concerned. */
export class WorkerLink {
  readonly commands: ProtocolClient<GroupRecords>;
  readonly #listeners = new Map<number, WorkerEvents>();

  constructor(context: NodeContext<GroupRecords>, onEnd: EndListener) {
    this.commands = context.connect(
      {
        incoming: (group, message, byteLength) => this.#listeners.get(group)?.incoming(message, byteLength),
        finished: (group, message) => this.#listeners.get(group)?.finished(message),
        trouble: (trouble) => this.#listeners.get(trouble.group)?.trouble(trouble),
      },
      onEnd,
    );
  }

  async open(setup: GroupSetup, events: WorkerEvents): Promise<void> {
    this.#listeners.set(setup.group, events);
    await this.commands.open(setup);
  }

  /** Resolves when the group's queue pairs are gone; where the protocol has ended, so are they. */
  async abort(group: number): Promise<void> {
    try {
      await this.commands.abort(group);
    } catch (error) {
      if (!(error instanceof DataPlaneError) || error instanceof ProtocolError) throw error;
    } finally {
      this.#listeners.delete(group);
    }
  }
}
