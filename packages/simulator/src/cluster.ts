/** What the host's processor costs, in microseconds. */
export interface HostCosts {
  /** One completion. */
  readonly completion: number;
  /** One posted request: a send or a receive. */
  readonly post: number;
  /** One announcement to a neighbour. */
  readonly announcement: number;
  /** A copy of 1 MiB: each receiver copies the first block of a message. */
  readonly copyMiB: number;
  /** From the event to the first instruction of a thread that slept. */
  readonly wakeUp: number;
  /** From the call of `send` to the command in the worker. */
  readonly sendSetUp: number;
  /** From the worker's `incoming` to the application's memory for the message. */
  readonly incomingSetUp: number;
}

/** The NICs of a cluster: times in microseconds. */
export interface NicCosts {
  /** Before the first byte of each request. */
  readonly request: number;
  /** From the last byte at the sender to the completion at the receiver. */
  readonly latency: number;
  /** From there to the completion at the sender. */
  readonly acknowledgement: number;
  /** Bytes on the wire in front of each block. */
  readonly headerBytes: number;
  /** Time in which a NIC releases a send by itself, if the protocol is offloaded to it. */
  readonly offload: number;
}

/** Hardware: what all members of a simulation have. */
export interface Cluster {
  /** The name of a preset, or any text. */
  readonly name: string;
  /** One line for people. */
  readonly description: string;
  /** Bandwidth of a NIC port, each way, in Gbit/s (10^9). */
  readonly gbitPerSecond: number;
  /** What each member of a rack has of the rack's uplink, each way, in Gbit/s; absent for full bisection bandwidth. */
  readonly uplinkGbitPerMember?: number | undefined;
  /** Members of a rack, if the simulation does not say which racks there are. They are dealt like cards. */
  readonly rackSize?: number | undefined;
  /**
   * The longest queue in front of a member's port, as the time in microseconds in which the port sends it; absent or 0 for a
   * network that makes senders wait instead, as InfiniBand does. With a queue, a NIC sends one block after the other.
   */
  readonly queueMicroseconds?: number | undefined;
  /**
   * The token bucket of each link, each way, in bytes: 0 to 2^50, a fraction is allowed. It is full at the start. A link that
   * carries less than its rate gathers so many bytes at most, and lets them through at once. Absent or 0 for none. Another value
   * throws ERR_RDMC_INVALID_OPTION. `simulateChannels` and `simulateRecovery` do not use it.
   */
  readonly bucketBytes?: number | undefined;
  /** What the NICs cost; the same for each member. */
  readonly nic: NicCosts;
  /** What the host's processor costs; the same for each member. */
  readonly host: HostCosts;
}

/** Bytes per microsecond. */
export function bytesPerMicrosecond(gbitPerSecond: number): number {
  return gbitPerSecond * 125;
}
