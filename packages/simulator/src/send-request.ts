import type { Clock } from './clock.js';
import type { NicCosts } from './cluster.js';
import type { Link } from './flow.js';
import type { Network } from './network.js';

/** A request that sends bytes. */
export interface SendRequest {
  readonly bytes: number;
  /** Time that a test adds before its first byte, in microseconds. */
  readonly delay: number;
  /** Whether the NIC may execute it. When that changes, its queue has to `continue`. */
  readonly isReleased: boolean;
  /** The first byte and the last byte have left. */
  started(): void;
  finished(): void;
  /** The bytes are in the receiver's memory: its completion is raised there. */
  arrived(): void;
  /** The acknowledgement is back: the completion at the sender. */
  completed(): void;
}

/** The queue pair whose requests use a wire. */
export interface WireOwner {
  readonly clock: Clock;
  readonly network: Network;
  readonly path: readonly Link[];
  readonly nic: NicCosts;
  /** The last byte of the request on the wire has left. */
  wireIsFree(): void;
  /** Starts the next request. */
  continue(): void;
}
