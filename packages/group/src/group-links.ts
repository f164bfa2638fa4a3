import type { CheckedGroupOptions } from './checked-group-options.js';
import type { GroupEnvironment } from './environment.js';
import type { SmallSetup, TableSetup } from './records.js';
import { SmallLinks } from './small/small-links.js';
import type { SmallMemory } from './small/small-memory.js';
import type { StableTable } from './stable/stable-table.js';
import { TableLinks } from './stable/table-links.js';
import type { CreateMessage } from './wire-messages.js';

/** The queue pairs of a group beside those for blocks: for small messages, and for the table of stable delivery. */
export class GroupLinks {
  readonly #small: SmallLinks;
  readonly #table: TableLinks;

  /** @param group the number of the group at this node */
  constructor(environment: GroupEnvironment, options: CheckedGroupOptions, group: number) {
    this.#small = new SmallLinks(environment, options, group);
    this.#table = new TableLinks(environment, options, group);
  }

  /** The memory of the small-message path, once it is allocated; undefined if the group does not have one. */
  get small(): SmallMemory | undefined {
    return this.#small.memory;
  }

  /** The table, once it is allocated; undefined without stable delivery. */
  get table(): StableTable | undefined {
    return this.#table.table;
  }

  /** Allocates the memory. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  async allocate(): Promise<{ readonly small: SmallSetup | null; readonly table: TableSetup | null }> {
    return { small: await this.#small.allocate(), table: await this.#table.allocate() };
  }

  /** Creates the queue pairs; the worker knows the group. */
  async open(): Promise<void> {
    await this.#small.open();
    await this.#table.open();
  }

  /** What that member needs in order to connect. */
  addressesFor(member: number): Pick<CreateMessage, 'small' | 'table'> {
    const small = this.#small.addressFor(member);
    const table = this.#table.addressFor(member);
    return { ...(small && { small }), ...(table && { table }) };
  }

  /** Connects the links to that member. @throws Error if an address is missing */
  async connect(member: number, { small, table }: CreateMessage): Promise<void> {
    await Promise.all([this.#small.connect(member, small), this.#table.connect(member, table)]);
  }

  /** The queue pairs are closed. */
  async close(): Promise<void> {
    await Promise.all([this.#small.close(), this.#table.close()]);
  }
}
