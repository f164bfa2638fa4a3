import type { ProtocolContext } from '@rdmc/dataplane';
import type { CompletionFailure, QueuePairAddress } from '@rdmc/verbs';
import type { GroupRecords, GroupSetup, SmallAddress, SmallSetup } from '../records.js';
import { childrenOf, parentOf } from '../small/tree.js';
import { connectOptions } from './connect-options.js';
import { controlWords } from './control-words.js';
import { NeighbourWatch, probeLimitMs, type WatchPort } from './neighbour-watch.js';
import { SmallReceiver } from './small-receiver.js';
import { SmallRelay } from './small-relay.js';
import { SmallRoot } from './small-root.js';
import type { FullRing, SmallHost, SmallSide } from './small-side.js';
import { SmallTrace } from './small-trace.js';

/** The functions of the group that its small-message path calls. A `pair` behind all neighbours is a link. */
export interface SmallGroup {
  /** Asks for an advance in this turn. */
  advanceSoon(): void;
  /** A request failed; `isOwn`: one that this member sent. */
  broke(pair: number, isOwn: boolean, failure: CompletionFailure): void;
  /** The member at the other end broke the protocol. */
  violated(pair: number, reason: string): void;
  /** The device neither completed a probe in time nor reported that it failed. */
  silent(pair: number): void;
}

/** The links of a member for small messages, over all its rings. */
export function smallLinks({ small, rings }: Pick<GroupSetup, 'small' | 'rings'>): number {
  if (!rings) return small?.links ?? 0;
  return (rings.own?.links ?? 0) + rings.from.length;
}

/** Ids of the members at the other ends of the links of a group of one sender. */
function peersOf({ rank, members }: GroupSetup): number[] {
  const ranks = childrenOf(rank, members.length);
  if (rank > 0) ranks.push(parentOf(rank, members.length));
  return ranks.map((each) => members[each]!);
}

/**
 * The small-message path of a group in the worker, and the watch of its links. A member has one side: that of the root, of a
 * receiver, or of a relay. In a group of many senders it has one of each kind for each ring.
 */
export class SmallPath implements SmallHost, WatchPort {
  readonly trace: SmallTrace | undefined;
  readonly #sides: SmallSide[] = [];
  /** The side of each link. */
  readonly #sideOf: SmallSide[] = [];
  readonly #watch: NeighbourWatch;

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    private readonly setup: GroupSetup,
    private readonly group: SmallGroup,
    counters: Float64Array,
  ) {
    const { small, rings, retryTimeoutMs } = setup;
    this.trace = context.trace && new SmallTrace(context.trace, setup.id, rings?.peers ?? peersOf(setup));
    if (small) this.#add(this.#sideIn(small, counters), small.links);
    if (rings?.own) {
      const self = rings.self === null ? undefined : controlWords(context.device, rings.self);
      // Its links are the first ones: it counts them in the same way.
      this.#add(new SmallRoot(context, rings.own, this, counters, self), rings.own.links);
    }
    for (const from of rings?.from ?? []) this.#add(new SmallReceiver(context, from, this), from.links);
    const limitMs = probeLimitMs(context, retryTimeoutMs);
    this.#watch = new NeighbourWatch(this, smallLinks(setup), { limitMs, patienceMs: 0 });
  }

  createQueue(link: number): QueuePairAddress {
    return this.#sideOf[link]!.createQueue(link);
  }

  connect(link: number, address: SmallAddress): Promise<string> {
    return this.#sideOf[link]!.connect(link, address, connectOptions(this.setup));
  }

  /** There is a full ring for the ring of that link. */
  grow(link: number, full: FullRing): void {
    this.#sideOf[link]!.grow(full);
  }

  /** Posts what the counters allow. */
  advance(): void {
    for (const side of this.#sides) side.advance();
  }

  /** Whether the completion of an own request matters. */
  get waitsForOwn(): boolean {
    return this.#sides.some((side) => side.waitsForOwn);
  }

  /** Whether messages are under way, so that this member waits for the others. */
  get isBusy(): boolean {
    return this.#sides.some((side) => side.isBusy);
  }

  /** Every WATCH_INTERVAL_MS or later, while any group is busy. Returns whether the links need another look. */
  look(sinceMs: number): boolean {
    return this.#watch.look(this.isBusy, sinceMs);
  }

  modifyToError(): void {
    for (const side of this.#sides) side.modifyToError();
  }

  async close(): Promise<void> {
    await Promise.all(this.#sides.map((side) => side.close()));
  }

  advanceSmall(): void {
    this.group.advanceSoon();
  }

  tellApplication(): void {
    this.context.events.small(this.setup.group);
  }

  smallFailed(link: number, isOwn: boolean, failure: CompletionFailure): void {
    this.group.broke(this.#pairOf(link), isOwn, failure);
  }

  smallViolated(link: number, reason: string): void {
    this.group.violated(this.#pairOf(link), reason);
  }

  smallProbed(link: number): void {
    this.#watch.answered(link);
  }

  cameFrom(link: number): number {
    return this.#sideOf[link]!.cameFrom(link);
  }

  probe(link: number): void {
    this.#sideOf[link]!.probe(link);
  }

  silent(link: number): void {
    this.group.silent(this.#pairOf(link));
  }

  /** In a group of one sender. */
  #sideIn(small: SmallSetup, counters: Float64Array): SmallSide {
    const { context } = this;
    if (this.setup.rank === 0) return new SmallRoot(context, small, this, counters);
    return small.links > 1
      ? new SmallRelay(context, small, this, counters)
      : new SmallReceiver(context, small, this);
  }

  #add(side: SmallSide, links: number): void {
    this.#sides.push(side);
    for (let link = 0; link < links; link += 1) this.#sideOf.push(side);
  }

  #pairOf(link: number): number {
    return this.setup.neighbours.length + link;
  }
}
