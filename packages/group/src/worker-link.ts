import { DataPlaneError, type EndListener, type ProtocolClient, ProtocolError } from '@rdmc/dataplane';
import type { NodeContext } from '@rdmc/node';
import type { GroupRecords, GroupSetup, Trouble } from './records.js';

/** The events of the worker for one group. */
export interface WorkerEvents {
  incoming(message: number, byteLength: number): void;
  finished(message: number): void;
  /** As `finished`, for a message in a slot of memory ahead. */
  stored(message: number, slot: number, byteLength: number): void;
  /** The small-message path has what this thread waits for. */
  small(): void;
  /** Other members have changed their rows in the table. */
  table(): void;
  trouble(trouble: Trouble): void;
}

/** The application's side of `worker/`: sends the commands, and dispatches the events to the groups. */
export class WorkerLink {
  readonly commands: ProtocolClient<GroupRecords>;
  readonly #listeners = new Map<number, WorkerEvents>();

  constructor(context: NodeContext<GroupRecords>, onEnd: EndListener) {
    this.commands = context.connect(
      {
        incoming: (group, message, byteLength) => this.#listeners.get(group)?.incoming(message, byteLength),
        finished: (group, message) => this.#listeners.get(group)?.finished(message),
        stored: (group, ...message) => this.#listeners.get(group)?.stored(...message),
        small: (group) => this.#listeners.get(group)?.small(),
        table: (group) => this.#listeners.get(group)?.table(),
        trouble: (trouble) => this.#listeners.get(trouble.group)?.trouble(trouble),
      },
      onEnd,
    );
  }

  async open(setup: GroupSetup, events: WorkerEvents): Promise<void> {
    this.#listeners.set(setup.group, events);
    await this.commands.open(setup);
  }

  /** Resolves when the group's queue pairs are closed; also if the protocol has ended, because then they are closed. */
  abort(group: number): Promise<void> {
    return unlessEnded(this.commands.abort(group)).finally(() => this.#listeners.delete(group));
  }

  /** Resolves when the worker has forgotten the first-block buffers of that size; also if the protocol has ended. */
  dropBuffers(bufferBytes: number): Promise<void> {
    return unlessEnded(this.commands.dropBuffers(bufferBytes));
  }
}

/** Resolves also if the protocol has ended. */
async function unlessEnded(answer: Promise<void>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof DataPlaneError) || error instanceof ProtocolError) throw error;
  }
}
