import type { CheckedGroupOptions } from '../checked-group-options.js';
import type { GroupEnvironment } from '../environment.js';
import type { RingAddresses, RingsSetup, SmallAddress } from '../records.js';
import type { RingPlace } from '../small/ring-growth.js';
import { RingsMemory } from './rings-memory.js';

/**
 * The queue pairs for the rings, during the creation of a group of many senders: one for each sender and each other member.
 * A member has links to all others if it sends, and behind these a link from each other sender. Other groups do not have them.
 *
 *   member 0   link 0 ──▶ member 1     link 1 ──▶ member 2     link 2 ◀── member 1     link 3 ◀── member 2
 */
export class RingLinks {
  /** Members to which this one sends, and from which it receives, by link. */
  readonly #to: readonly number[];
  readonly #from: readonly number[];
  #addresses: readonly SmallAddress[] = [];
  #memory: RingsMemory | undefined;

  constructor(
    private readonly environment: GroupEnvironment,
    private readonly options: CheckedGroupOptions,
    /** The number of the group at this node. */
    private readonly group: number,
  ) {
    const { members, senders = [] } = options;
    const { memberId } = environment;
    this.#to = senders.includes(memberId) ? members.filter((id) => id !== memberId) : [];
    this.#from = senders.filter((id) => id !== memberId);
  }

  /** The members at the other ends, by link. */
  get members(): readonly number[] {
    return [...this.#to, ...this.#from];
  }

  /** The memory, once it is allocated. */
  get memory(): RingsMemory | undefined {
    return this.#memory;
  }

  /** Allocates the memory. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY; then nothing is allocated */
  async allocate(): Promise<RingsSetup | null> {
    if (!this.options.senders) return null;
    const { smallMessageBytes, order, members } = this.options;
    const needs = { links: this.#to.length, receivesOwn: order === 'total', from: this.#from };
    const shape = { smallMessageBytes, members: members.length, hasManySenders: true };
    this.#memory = await RingsMemory.allocate(this.environment.protectionDomain, shape, needs);
    return { ...this.#memory.setup, peers: this.members };
  }

  /** The rings of this group, once they have their memory. */
  get rings(): RingPlace[] {
    const { own, from } = this.#memory ?? {};
    const places: RingPlace[] = [];
    const { memberId } = this.environment;
    if (own) places.push({ sender: memberId, link: 0, children: this.#to, parent: undefined, memory: own });
    for (const [index, sender] of this.#from.entries()) {
      const memory = from?.get(sender);
      const link = this.#to.length + index;
      if (memory) places.push({ sender, link, children: [], parent: sender, memory });
    }
    return places;
  }

  /** Creates the queue pairs, behind the worker's `open`: sends all commands before it returns. */
  async open(): Promise<void> {
    const { commands } = this.environment.link;
    const addresses = this.members.map(async (_, link) => {
      const sender = this.#from[link - this.#to.length];
      const ring = sender === undefined ? null : this.#memory!.from.get(sender)!.ring.remote();
      return { queue: await commands.createSmall({ group: this.group, link }), ring };
    });
    this.#addresses = await Promise.all(addresses);
  }

  /** What that member needs in order to connect; undefined if the group does not have rings of many senders. */
  addressesFor(member: number): RingAddresses | undefined {
    if (!this.options.senders) return undefined;
    return { out: this.#addressOf(this.#linkTo(member)), in: this.#addressOf(this.#linkFrom(member)) };
  }

  /** Connects the links to and from that member. Resolves with the transport. @throws Error if an address is missing */
  async connect(member: number, addresses: RingAddresses | undefined): Promise<string | undefined> {
    const connect = (link: number, address: SmallAddress): Promise<string> =>
      this.environment.link.commands.connectSmall({ group: this.group, link, address });
    const [to, from] = [this.#linkTo(member), this.#linkFrom(member)];
    const { queue, ring } = addresses?.in ?? {};
    if (to !== -1 && !(queue && Number.isSafeInteger(ring?.address) && Number.isSafeInteger(ring?.rkey))) {
      throw new Error('it did not send the address of its ring');
    }
    const sender = addresses?.out?.queue;
    if (from !== -1 && !sender) throw new Error('it did not send the address of its link as a sender');
    // Behind both checks: nobody would wait for a connection that was begun in front of a missing address.
    const transports: Promise<string>[] = [];
    if (to !== -1) transports.push(connect(to, { queue: queue!, ring: ring! }));
    if (from !== -1) transports.push(connect(from, { queue: sender!, ring: null }));
    return (await Promise.all(transports))[0];
  }

  /** The creation has failed, or the group has ended, and the queue pairs are closed. */
  async close(): Promise<void> {
    await this.#memory?.close();
  }

  #addressOf(link: number): SmallAddress | null {
    return this.#addresses[link] ?? null;
  }

  #linkTo(member: number): number {
    return this.#to.indexOf(member);
  }

  #linkFrom(member: number): number {
    const at = this.#from.indexOf(member);
    return at === -1 ? -1 : this.#to.length + at;
  }
}
