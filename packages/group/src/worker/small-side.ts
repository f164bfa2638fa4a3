import type { CompletionFailure, ConnectOptions, QueuePairAddress } from '@rdmc/verbs';
import type { GrowSmall, SmallAddress } from '../records.js';
import type { SmallTrace } from './small-trace.js';

/** The functions of the group that its small-message path calls. */
export interface SmallHost {
  /** Records batches; undefined without a trace. */
  readonly trace?: SmallTrace | undefined;
  /** Asks for an `advance` in this turn. */
  advanceSmall(): void;
  /** The application waits for entries or for room, and there is something. */
  tellApplication(): void;
  /** A request failed; `isOwn`: one that this side sent. */
  smallFailed(link: number, isOwn: boolean, failure: CompletionFailure): void;
  /** The member at the other end wrote invalid counters. */
  smallViolated(link: number, reason: string): void;
  /** A probe of that link completed. */
  smallProbed(link: number): void;
}

/** This member's full ring, and those to which it writes. */
export type FullRing = Pick<GrowSmall, 'ring' | 'addresses'>;

/** The queue pairs of some links of a member. */
export interface SmallLinkSide {
  /** Creates the queue pair of a link, with its receives. */
  createQueue(link: number): QueuePairAddress;
  /** Resolves with the transport. */
  connect(link: number, address: SmallAddress, options: ConnectOptions): Promise<string>;
  /** Whether the completion of an own request matters. */
  readonly waitsForOwn: boolean;
  /** Changes with everything that comes over that link. Called in each look at the links, after `isBusy`. */
  cameFrom(link: number): number;
  /** Posts a request that the device at the other end answers by itself. */
  probe(link: number): void;
  /** A barrier: once it returns, the others do not write any more. */
  modifyToError(): void;
  close(): Promise<void>;
}

/** One member's side of the small-message path, in the worker: that of the root, of a receiver, or of a relay. */
export interface SmallSide extends SmallLinkSide {
  /** Posts what the counters allow. */
  advance(): void;
  /** There is a full ring, and each member behind this one has one, too. */
  grow(full: FullRing): void;
  /** Whether messages are under way, so that this member waits for the others. */
  readonly isBusy: boolean;
}
