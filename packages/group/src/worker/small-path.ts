import type { ProtocolContext } from '@rdmc/dataplane';
import type { CompletionFailure, QueuePairAddress } from '@rdmc/verbs';
import type { GroupRecords, GroupSetup, SmallAddress, SmallSetup } from '../records.js';
import { connectOptions } from './connect-options.js';
import { limitLooks, NeighbourWatch, type WatchPort } from './neighbour-watch.js';
import { SmallReceiver } from './small-receiver.js';
import { SmallRoot } from './small-root.js';
import type { SmallHost, SmallSide } from './small-side.js';
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

/** The small-message path of a group in the worker, and the watch of its links. */
export class SmallPath implements SmallHost, WatchPort {
  readonly trace: SmallTrace | undefined;
  readonly #side: SmallSide;
  readonly #watch: NeighbourWatch;

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    private readonly setup: GroupSetup,
    small: SmallSetup,
    private readonly group: SmallGroup,
    counters: Float64Array,
  ) {
    const peers = setup.rank === 0 ? setup.members.slice(1) : setup.members.slice(0, 1);
    this.trace = context.trace && new SmallTrace(context.trace, setup.id, peers);
    this.#side =
      setup.rank === 0
        ? new SmallRoot(context, small, this, counters)
        : new SmallReceiver(context, small, this);
    this.#watch = new NeighbourWatch(this, small.links, limitLooks(context, setup.retryTimeoutMs));
  }

  createQueue(link: number): QueuePairAddress {
    return this.#side.createQueue(link);
  }

  connect(link: number, address: SmallAddress): Promise<string> {
    return this.#side.connect(link, address, connectOptions(this.setup));
  }

  /** Posts what the counters allow. */
  advance(): void {
    this.#side.advance();
  }

  /** Whether the completion of an own request matters. */
  get waitsForOwn(): boolean {
    return this.#side.waitsForOwn;
  }

  /** Whether messages are under way, so that this member waits for the others. */
  get isBusy(): boolean {
    return this.#side.isBusy;
  }

  /** Every WATCH_INTERVAL_MS while any group is busy. Returns whether the links need another look. */
  look(): boolean {
    return this.#watch.look(this.#side.isBusy);
  }

  modifyToError(): void {
    this.#side.modifyToError();
  }

  close(): Promise<void> {
    return this.#side.close();
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
    return this.#side.cameFrom(link);
  }

  probe(link: number): void {
    this.#side.probe(link);
  }

  silent(link: number): void {
    this.group.silent(this.#pairOf(link));
  }

  #pairOf(link: number): number {
    return this.setup.neighbours.length + link;
  }
}
