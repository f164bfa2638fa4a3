import type { CheckedGroupOptions } from '../checked-group-options.js';
import type { GroupEnvironment } from '../environment.js';
import type { SmallAddress, SmallSetup } from '../records.js';
import type { RingPlace } from './ring-growth.js';
import { SmallMemory } from './small-memory.js';
import { childrenOf, parentOf } from './tree.js';

/**
 * The queue pairs of the small-message path, during the creation of a group: a member has one to each of its children in the
 * tree, drawn in `tree.ts`, and behind these one to its parent. Their index is a `link`. A group without the path, or of many
 * senders, does not have links.
 */
export class SmallLinks {
  /** The members at the other ends, by link. */
  readonly members: readonly number[];
  /** The first links are those to children. */
  readonly #children: number;
  #addresses: readonly SmallAddress[] = [];
  #memory: SmallMemory | undefined;

  constructor(
    private readonly environment: GroupEnvironment,
    private readonly options: CheckedGroupOptions,
    /** The number of the group at this node. */
    private readonly group: number,
  ) {
    const { members, smallMessageBytes, senders } = options;
    const rank = members.indexOf(environment.memberId);
    const ranks = childrenOf(rank, members.length);
    this.#children = ranks.length;
    if (rank > 0) ranks.push(parentOf(rank, members.length));
    this.members = smallMessageBytes === 0 || senders ? [] : ranks.map((each) => members[each]!);
  }

  /** The memory, once it is allocated. */
  get memory(): SmallMemory | undefined {
    return this.#memory;
  }

  /** Allocates the memory. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  async allocate(): Promise<SmallSetup | null> {
    const links = this.members.length;
    if (links === 0) return null;
    const { protectionDomain, memberId } = this.environment;
    const { smallMessageBytes, members } = this.options;
    const isRoot = members[0] === memberId;
    const part = { isRoot, links, smallMessageBytes, members: members.length };
    this.#memory = await SmallMemory.allocate(protectionDomain, part);
    return this.#memory.setup;
  }

  /** The ring of this group, once it has its memory. */
  get rings(): RingPlace[] {
    const { members } = this;
    const children = members.slice(0, this.#children);
    const [sender] = this.options.members;
    const place = { sender: sender!, link: 0, children, parent: members[this.#children] };
    return this.#memory ? [{ ...place, memory: this.#memory }] : [];
  }

  /** Creates the queue pairs, behind the worker's `open`: sends all commands before it returns. */
  async open(): Promise<void> {
    const { commands } = this.environment.link;
    const addresses = this.members.map(async (_, link) => {
      const ring = link < this.#children ? null : this.#memory!.ring.remote();
      return { queue: await commands.createSmall({ group: this.group, link }), ring };
    });
    this.#addresses = await Promise.all(addresses);
  }

  /** What that member needs in order to connect; undefined if there is not a link to it. */
  addressFor(member: number): SmallAddress | undefined {
    return this.#addresses[this.members.indexOf(member)];
  }

  /** Connects the link to that member, if there is one. @throws Error if its address is missing */
  async connect(member: number, address: SmallAddress | undefined): Promise<void> {
    const link = this.members.indexOf(member);
    if (link === -1) return;
    if (!address) throw new Error('it did not send an address for small messages');
    const { queue, ring } = address;
    if (link < this.#children && !(Number.isSafeInteger(ring?.address) && Number.isSafeInteger(ring?.rkey))) {
      throw new Error('it did not send the address of its ring for small messages');
    }
    await this.environment.link.commands.connectSmall({ group: this.group, link, address: { queue, ring } });
  }

  /** The creation has failed, and the queue pairs are closed. */
  async close(): Promise<void> {
    await this.#memory?.close();
  }
}
