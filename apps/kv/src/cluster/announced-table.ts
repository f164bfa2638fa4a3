import { SerialQueue } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import type { CoordinatorChannel } from '@rdmc/tailwind/coordinator';
import type { SlotRange } from '../commands/node-view.js';
import { Topic } from './messages.js';
import { NOBODY } from './slot-table.js';

/** Servers by log. */
export interface Servers {
  /** The server that is here, with this log. */
  here(logId: string): number | undefined;
  /** The same, or the server that is not here, and may be back with this log. */
  known(logId: string): number | undefined;
}

export interface AnnouncedTableOptions {
  readonly mesh: Pick<Mesh, 'peers'>;
  readonly orders: Pick<CoordinatorChannel, 'broadcast' | 'send'>;
  /** The log that has each slot now, with a number above all before, also those of earlier runs. */
  readonly numbered: () => Promise<{
    readonly epoch: number;
    readonly owners: readonly string[];
    /** Servers that are to go. */
    readonly drained: readonly number[];
  }>;
  /** Every slot has a server now, by another table than before. */
  readonly onServing: (epoch: number) => void;
}

/** The slot table, as all servers were told it. */
export class AnnouncedTable {
  #last: { readonly text: string; readonly message: object } | undefined;
  #served: string | undefined;
  /** Servers that were not here when the table was told. */
  readonly #untold = new Set<number>();
  /** A table with a new number could not be made yet: the next one has it, whatever it says. */
  #isOwed = false;
  readonly #announcing = new SerialQueue();

  constructor(private readonly options: AnnouncedTableOptions) {}

  joined(member: number): void {
    this.#untold.add(member);
  }

  lost(member: number): void {
    this.#untold.delete(member);
  }

  /**
   * Sends all servers the table of slots. A new table names only servers that are here: the next process of an id would
   * serve the slots of the former one without their keys. A table that names a server which may be back is not replaced for
   * that: the others reach it, and servers that do not have the newest table do not take requests by it.
   *
   * @param owners the log that has each slot
   * @param isNew whether the table has a new number in any case: servers hold requests until they get one
   */
  announce(owners: readonly string[], servers: Servers, isNew = false): Promise<void> {
    return this.#announcing.run(() => this.#announce(owners, servers, isNew));
  }

  async #announce(owners: readonly string[], servers: Servers, isNew: boolean): Promise<void> {
    if (isNew) this.#isOwed = true;
    // The first table of a run comes when the servers are here: until then they serve by that of the run before.
    if (isNew && !this.#last) return;
    const isKnown = [rangesBy(owners, servers.here), rangesBy(owners, servers.known)].some(
      (ranges) => JSON.stringify(ranges) === this.#last?.text,
    );
    if (isKnown && !this.#isOwed) {
      this.#tellLate();
      return;
    }
    const { epoch, owners: present, drained } = await this.options.numbered();
    // A server that was lost meanwhile is left out.
    const ranges = rangesBy(present, servers.here);
    const text = JSON.stringify(ranges);
    const message = { epoch, ranges: ranges.map(({ from, to, member }) => [from, to, member]), drained };
    this.options.orders.broadcast(Topic.TABLE, message);
    this.#isOwed = false;
    this.#untold.clear();
    this.#last = { text, message };
    const isComplete = ranges.every(({ member }) => member !== NOBODY);
    if (isComplete && text !== this.#served) this.options.onServing(epoch);
    this.#served = isComplete ? text : undefined;
  }

  #tellLate(): void {
    const { mesh, orders } = this.options;
    for (const member of this.#untold) {
      if (mesh.peers.get(member)?.state === 'connected') {
        orders.send(member, Topic.TABLE, this.#last!.message);
      }
    }
    this.#untold.clear();
  }
}

/** Neighbouring slots have mostly the same log. */
function rangesBy(owners: readonly string[], server: (logId: string) => number | undefined): SlotRange[] {
  const ranges: { from: number; to: number; member: number }[] = [];
  for (let slot = 0; slot < owners.length; ) {
    const [from, logId] = [slot, owners[slot]!];
    while (slot < owners.length && owners[slot] === logId) slot += 1;
    const member = server(logId) ?? NOBODY;
    const last = ranges.at(-1);
    if (last?.member === member) last.to = slot - 1;
    else ranges.push({ from, to: slot - 1, member });
  }
  return ranges;
}
