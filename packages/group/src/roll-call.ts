import type { CheckedGroupOptions } from './checked-group-options.js';
import { MOST_DIRECT_MEMBERS } from './constants.js';

/** Members that a group that is being created waits for. */
export interface Awaited {
  /** They have not created it. */
  readonly absent: readonly number[];
  /** They have not reported their connections. */
  readonly unconnected: readonly number[];
}

/**
 * Which members have created a group, and which are connected. In a small group every member tells every other one. In a
 * larger one the root gathers what all say, and tells it to all: 4 messages for each member and some for each neighbour, in
 * place of 2(n − 1) for each member.
 */
export class RollCall {
  /** Of the members that have created the group, as far as this member knows. */
  readonly nonces = new Map<number, string>();
  /** Members to which this one sends its creation, and from which it gets theirs. */
  readonly direct: readonly number[];
  /** The root tells the others what it has gathered. */
  readonly isGathered: boolean;
  readonly isRoot: boolean;
  readonly #root: number;
  readonly #others: readonly number[];
  readonly #connected = new Set<number>();
  #told: Awaited | undefined;

  /** @param linked members with which this one has queue pairs */
  constructor(options: CheckedGroupOptions, memberId: number, linked: readonly number[]) {
    const { members, senders, delivery } = options;
    this.#root = members[0]!;
    this.#others = members.filter((id) => id !== memberId);
    this.isRoot = memberId === this.#root;
    // Rings of many senders, and the table of stable delivery, connect each member with each other one anyway.
    const hasAllPairs = senders !== undefined || delivery === 'stable';
    this.isGathered = members.length > MOST_DIRECT_MEMBERS && !hasAllPairs;
    const near = new Set([this.#root, ...linked]);
    this.direct = this.isGathered && !this.isRoot ? this.#others.filter((id) => near.has(id)) : this.#others;
  }

  /** Members to which this one reports its connections. */
  get reportsTo(): readonly number[] {
    if (!this.isGathered) return this.#others;
    return this.isRoot ? [] : [this.#root];
  }

  get allCreated(): boolean {
    return this.nonces.size === this.#others.length;
  }

  get allConnected(): boolean {
    if (this.isGathered && !this.isRoot) return this.#connected.has(this.#root);
    return this.#connected.size === this.#others.length;
  }

  created(member: number, nonce: string): void {
    if (!this.nonces.has(member)) this.nonces.set(member, nonce);
  }

  connected(member: number): void {
    this.#connected.add(member);
  }

  /** The root's list of all nonces, in the order of the members. */
  gathered(members: readonly number[], nonces: readonly string[], from: number): void {
    if (from !== this.#root || nonces.length !== members.length) return;
    for (const [rank, id] of members.entries())
      if (this.#others.includes(id)) this.created(id, nonces[rank]!);
  }

  /** The root waits for these members. */
  awaiting(from: number, { absent, unconnected }: Awaited): void {
    if (from === this.#root) this.#told = { absent, unconnected };
  }

  /** The members that are missing: known by themselves, or by the root. */
  awaited(): Awaited {
    const absent = this.#others.filter((member) => !this.nonces.has(member));
    const unconnected = this.#others.filter((member) => !this.#connected.has(member));
    if (!this.isGathered || this.isRoot) return { absent, unconnected };
    // Without the root nobody knows of the others.
    const near = this.direct.filter((member) => !this.nonces.has(member));
    if (near.includes(this.#root)) return { absent: near, unconnected };
    return this.#told ?? { absent, unconnected };
  }
}
