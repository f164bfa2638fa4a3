import type { CheckedGroupOptions } from './checked-group-options.js';
import type { GroupEnvironment } from './environment.js';
import { RingLinks } from './many/ring-links.js';
import type { RingsMemory } from './many/rings-memory.js';
import type { RingsSetup, SmallSetup, TableSetup } from './records.js';
import type { RingPlace } from './small/ring-growth.js';
import { SmallLinks } from './small/small-links.js';
import type { SmallMemory } from './small/small-memory.js';
import type { StableTable } from './stable/stable-table.js';
import { TableLinks } from './stable/table-links.js';
import type { CreateMessage } from './wire-messages.js';

interface LinksSetup {
  readonly small: SmallSetup | null;
  readonly rings: RingsSetup | null;
  readonly table: TableSetup | null;
}

/** The queue pairs of a group beside those for blocks: for small messages, and for the table of stable delivery. */
export class GroupLinks {
  readonly #small: SmallLinks;
  readonly #rings: RingLinks;
  readonly #table: TableLinks;

  /** @param group the number of the group at this node */
  constructor(environment: GroupEnvironment, options: CheckedGroupOptions, group: number) {
    this.#small = new SmallLinks(environment, options, group);
    this.#rings = new RingLinks(environment, options, group);
    this.#table = new TableLinks(environment, options, group);
  }

  /** The memory of the small-message path, once it is allocated; undefined if the group does not have one. */
  get small(): SmallMemory | undefined {
    return this.#small.memory;
  }

  /** The rings of a group of many senders, once they are allocated. */
  get rings(): RingsMemory | undefined {
    return this.#rings.memory;
  }

  /** All rings of this member, once they are allocated. */
  get ringPlaces(): readonly RingPlace[] {
    return [...this.#small.rings, ...this.#rings.rings];
  }

  /** The members at the other ends of the links for small messages, over all rings. */
  get smallMembers(): readonly number[] {
    return [...this.#small.members, ...this.#rings.members];
  }

  /** The table, once it is allocated; undefined without stable delivery. */
  get table(): StableTable | undefined {
    return this.#table.table;
  }

  /** Allocates the memory. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  async allocate(): Promise<LinksSetup> {
    const small = await this.#small.allocate();
    return { small, rings: await this.#rings.allocate(), table: await this.#table.allocate() };
  }

  /** Creates the queue pairs, behind the worker's `open`: sends all commands before it returns. */
  async open(): Promise<void> {
    await Promise.all([this.#small.open(), this.#rings.open(), this.#table.open()]);
  }

  /** What that member needs in order to connect. */
  addressesFor(member: number): Pick<CreateMessage, 'small' | 'rings' | 'table'> {
    const small = this.#small.addressFor(member);
    const rings = this.#rings.addressesFor(member);
    const table = this.#table.addressFor(member);
    return { ...(small && { small }), ...(rings && { rings }), ...(table && { table }) };
  }

  /**
   * Connects the links to that member. Resolves with the transport of its rings, in a group of many senders.
   * @throws Error if an address is missing
   */
  async connect(member: number, { small, rings, table }: CreateMessage): Promise<string | undefined> {
    const connected = [this.#small.connect(member, small), this.#table.connect(member, table)];
    const transport = this.#rings.connect(member, rings);
    await Promise.all([...connected, transport]);
    return transport;
  }

  /** The queue pairs are closed. */
  async close(): Promise<void> {
    await Promise.all([this.#small.close(), this.#rings.close(), this.#table.close()]);
  }
}
