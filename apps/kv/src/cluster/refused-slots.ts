import type { Command } from '../commands/command.js';
import type { Arguments } from '../resp/arguments.js';
import { ownsAll } from './owned.js';

/**
 * The slots whose requests a connection refused because this server did not serve them. Requests of the slot behind one that was refused
 * are refused, too, where the same slot table, or an earlier one, sent them: a hand-over that is cancelled gives this server the slot back
 * between two requests of a client. By a newer table the sender repeats all of them in order.
 */
export class RefusedSlots {
  readonly #epochs = new Map<number, number>();
  #newest = 0;

  /** Whether a request must be refused because an earlier one of its slots was. */
  has(command: Command, args: Arguments, epoch: number): boolean {
    if (this.#epochs.size === 0) return false;
    return !ownsAll(command, args, (slot) => !(epoch <= (this.#epochs.get(slot) ?? 0)));
  }

  /** A request of the table with this epoch was refused. */
  add(command: Command, args: Arguments, epoch: number): void {
    this.#newest = Math.max(this.#newest, epoch);
    ownsAll(command, args, (slot) => {
      this.#epochs.set(slot, Math.max(epoch, this.#epochs.get(slot) ?? 0));
      return true;
    });
  }

  /** No request that an earlier table than this one has sent comes any more. */
  forgetBefore(epoch: number): void {
    if (epoch > this.#newest) this.#epochs.clear();
  }
}
