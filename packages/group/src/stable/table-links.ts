import type { CheckedGroupOptions } from '../checked-group-options.js';
import type { GroupEnvironment } from '../environment.js';
import type { TableAddress, TableSetup } from '../records.js';
import { StableTable } from './stable-table.js';

/**
 * The queue pairs of the table, during the creation of a group with stable delivery: one to each other member. Their index is
 * a `link`, in the order of the ranks. Other groups do not have links.
 */
export class TableLinks {
  /** Ranks at the other ends, by link. */
  readonly #ranks: readonly number[];
  #addresses: readonly TableAddress[] = [];
  #table: StableTable | undefined;

  constructor(
    private readonly environment: GroupEnvironment,
    private readonly options: CheckedGroupOptions,
    /** The number of the group at this node. */
    private readonly group: number,
  ) {
    const { members, delivery } = options;
    const ranks = members.map((_, rank) => rank);
    this.#ranks = delivery === 'stable' ? ranks.filter((rank) => rank !== this.#rank) : [];
  }

  /** The table, once it is allocated. */
  get table(): StableTable | undefined {
    return this.#table;
  }

  /** Allocates the table. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  async allocate(): Promise<TableSetup | null> {
    if (this.#ranks.length === 0) return null;
    const { members, senders } = this.options;
    const { protectionDomain } = this.environment;
    this.#table = await StableTable.allocate(protectionDomain, members.length, this.#rank, senders?.length);
    return this.#table.setup;
  }

  /** Creates the queue pairs, behind the worker's `open`: sends all commands before it returns. */
  async open(): Promise<void> {
    const { commands } = this.environment.link;
    const addresses = this.#ranks.map(async (rank, link) => {
      const row = this.#table!.rowOf(rank);
      return { queue: await commands.createTable({ group: this.group, link }), row };
    });
    this.#addresses = await Promise.all(addresses);
  }

  /** What that member needs in order to connect; undefined if the group does not have a table. */
  addressFor(member: number): TableAddress | undefined {
    return this.#addresses[this.#linkTo(member)];
  }

  /** Connects the link to that member, if there is one. @throws Error if its address is missing */
  async connect(member: number, address: TableAddress | undefined): Promise<void> {
    const link = this.#linkTo(member);
    if (link === -1) return;
    const { row } = address ?? {};
    if (!(Number.isSafeInteger(row?.address) && Number.isSafeInteger(row?.rkey))) {
      throw new Error('it did not send the address of a row for stable delivery');
    }
    await this.environment.link.commands.connectTable({ group: this.group, link, address: address! });
  }

  /** The creation has failed, or the group has ended, and the queue pairs are closed. */
  async close(): Promise<void> {
    await this.#table?.close();
  }

  get #rank(): number {
    return this.options.members.indexOf(this.environment.memberId);
  }

  #linkTo(member: number): number {
    return this.#ranks.indexOf(this.options.members.indexOf(member));
  }
}
