import type { RelayBy } from '@rdmc/group';
import type { TransferChoice } from './transfer-choice.js';

/** What is known once the members are connected. */
export interface RelayFacts {
  /** Members of the group, the sender included. */
  readonly members: number;
  /** Whether the device executes requests that wait. */
  readonly executesWaits: boolean;
  /** Whether all members share memory, so that no link carries blocks. */
  readonly sharesMemory: boolean;
}

/** Who sends the blocks on that a member has received. */
export interface RelayChoice {
  readonly relay: RelayBy;
  /** Why, for people. */
  readonly relayReason: string;
}

/** How every group of a cast sends. */
export type GroupChoice = TransferChoice & RelayChoice;

/**
 * Chooses who relays. What was asked for is taken. Over a network the device does, where it can: 64 MiB to 15 receivers over TCP
 * took 1.06 to 1.08 of a plain stream's time with it, and 1.26 to 1.42 with relays by the worker, on a busy machine
 * (docs/results/network.md, "Relays by the device"). Over shared memory the runs differed too much to tell.
 */
export function chooseRelay(facts: RelayFacts, wish: RelayBy | undefined): RelayChoice {
  if (wish) return { relay: wish, relayReason: 'asked for' };
  const worker = (relayReason: string): RelayChoice => ({ relay: 'worker', relayReason });
  if (facts.members < 3) return worker('nobody relays');
  if (facts.sharesMemory) return worker('all members share memory');
  if (!facts.executesWaits) return worker('the device does not execute requests that wait');
  return { relay: 'device', relayReason: 'it does not wait for threads' };
}
