import type { Algorithm, RackId } from '@rdmc/schedule';
import type { MemoryRegion } from '@rdmc/verbs';
import type { SenderOrder, Senders } from './many/senders.js';
import type { ReceiveAhead } from './receive-memory.js';
import type { Quorum } from './stable/survivor-rules.js';

/** A part of a region. */
export interface RegionRange {
  /** The region that has the bytes. */
  readonly region: MemoryRegion;
  /** First byte, default 0. */
  readonly offset?: number;
  /** Default: to the region's end. */
  readonly byteLength?: number;
}

/**
 * Returns memory for a message of `byteLength` bytes: a region of this node, or a part of one, without another
 * use until the message is released. The signal is aborted when the group ends.
 */
export type IncomingHandler = (
  byteLength: number,
  options: { readonly signal: AbortSignal },
) => MemoryRegion | RegionRange | Promise<MemoryRegion | RegionRange>;

/** When a message is given to the application. */
export type Delivery = 'received' | 'stable';

/** Who sends a received block on to the next members. */
export type RelayBy = 'worker' | 'device';

/** The options of `createGroup`. */
export interface GroupOptions {
  /** The same at all members, 0 to 2^31 − 1. Open groups have different ids. */
  readonly id: number;
  /** Ids of the members, the root first; the same list in the same order at all of them. */
  readonly members: readonly number[];
  /**
   * Where the group is a part of a series: the number in the series of its first message, default 0. The same at all members;
   * see `SeriesSender.first`.
   */
  readonly first?: number;
  /**
   * The members that send. `'root'` (default): the first member. `'all'`, or a list of ids: a group of many senders, of at most
   * 16 members. Each sender has a ring at each other member; so every message is small, and is given as bytes or as a region of
   * at most `smallMessageBytes`, which is not 0 then. The options of blocks and their memory, and `first`, are for groups of one
   * sender. The same at all members.
   */
  readonly senders?: Senders;
  /**
   * With many senders: `'sender'` (default): the messages of each sender come in the order in which it sent them, and a sender
   * does not get its own. `'total'`: all members, the senders too, get all messages in one order; delivery is stable then. The
   * same at all members.
   */
  readonly order?: SenderOrder;
  /** Default 'binomial-pipeline'. The same at all members. */
  readonly algorithm?: Algorithm;
  /** Bytes, 1 to 2^30, or 'auto' (default): chosen by the root for each message. The same at all members. */
  readonly blockBytes?: 'auto' | number;
  /**
   * `'worker'` (default): a member's worker thread sends a block on when it has seen it. `'device'`: the worker hands relays to
   * its device ahead, up to a window of them, and the device executes each when its block has come, while the worker sleeps.
   * Needs a device with `attributes.waitFor`, which the soft device has; others are refused with ERR_RDMC_RELAY_UNSUPPORTED.
   * For groups of one sender. The same at all members.
   */
  readonly relay?: RelayBy;
  /** The rack of each member, root first: needed by 'hybrid'. The same at all members. */
  readonly racks?: readonly RackId[];
  /** Returns memory for a message that begins to arrive (default: `node.allocate`). */
  readonly incoming?: IncomingHandler;
  /**
   * Memory ahead, at a receiver: a message that fits into a slot is placed there without asking this thread, so `incoming`
   * is not called for it. While no slot is free the group waits until the application releases a message. A longer message
   * gets its memory from `incoming`. Default: no memory ahead. A root does not use it.
   */
  readonly receive?: ReceiveAhead;
  /**
   * The largest message, in bytes, that `send`, `sendMany` and `writable` send through rings in the receivers' memory, many
   * at once, if it is given as bytes: 0 to 65,536; 0: none. Longer messages and regions are sent as blocks; the order is one.
   * Default: 8192. In a group of more than 16 members, members relay them. The same at all members.
   */
  readonly smallMessageBytes?: number;
  /**
   * `'received'` (default): a message is given to the application when this member has it. `'stable'`: when all members have
   * it; and after a failure, the survivors agree on the messages that they deliver. At most 32 members. The same at all
   * members.
   */
  readonly delivery?: Delivery;
  /**
   * With stable delivery: how many members must be left to agree after a failure. `'majority'` (default) of all members; a
   * minority ends with ERR_RDMC_GROUP_MINORITY. `'none'`: any number, also one of two; where the members are cut into
   * parts that all go on, each part agrees for itself. The same at all members.
   */
  readonly quorum?: Quorum;
  /**
   * Whether each receiver tells the root over the mesh when it has a message of blocks, for `group.skew()`; at most 100 reports
   * a second from each. Default false. The same at all members.
   */
  readonly arrivals?: boolean;
  /** Receives posted ahead, over all neighbours together: 1 to 64, default 32. The same at all members. */
  readonly receiveWindow?: number;
  /**
   * Blocks this member sends at once: 1 to 64. Default 4, or `receiveWindow` at a receiver whose device relays; 1 in a group of 5 or more members over a network, with 'hybrid', and
   * with 'binomial-pipeline' if their number is not a power of two.
   */
  readonly sendWindow?: number;
  /**
   * Receives of this member that are announced and not filled, over all neighbours: 1 to 64. Default `receiveWindow`; 1 in the
   * same groups as for `sendWindow`: one block at a time comes to a member there, as in the implementation of the RDMC paper.
   */
  readonly readyWindow?: number;
  /**
   * The most memory, in bytes, for copies of messages that `send` got as bytes and that `writable` sends: 1 to 2^31 − 1,
   * default 64 MiB. It is registered memory, allocated when it is first needed, reused, and freed with the group. Also the
   * size of the largest such message.
   */
  readonly sendBufferBytes?: number;
  /**
   * How long a neighbour's device may be silent in the middle of a transfer before it counts as lost and the group
   * fails: 1 to 600,000 ms, default 2000. The end of a killed process is still detected at once.
   */
  readonly retryTimeoutMs?: number;
  /**
   * This member's sends have so many turns for each turn of another group's, where both have something to send: 1 (default)
   * to 16. The soft device's, over shared memory or with `linkRate`. Elsewhere it has no effect, and the node's logger gets a
   * warning; give urgent and bulk groups separate service levels or traffic classes there.
   */
  readonly weight?: number;
  /** The traffic class of this member's packets, 0 (default) to 255: see `ConnectOptions` of @rdmc/verbs. */
  readonly trafficClass?: number;
  /** The service level of this member's packets on RDMA devices, 0 (default) to 15: see `ConnectOptions` of @rdmc/verbs. */
  readonly serviceLevel?: number;
  /** How long the creation waits for the other members, in milliseconds (default 30,000). */
  readonly timeoutMs?: number;
  /** Ends the waiting of the creation. */
  readonly signal?: AbortSignal;
}

/** A member of a group: one process. */
export interface GroupMember {
  /** The member's id. */
  readonly id: number;
  /** Tells successive processes of the id apart; 0 where the mesh has a fixed list of members. */
  readonly incarnation: number;
}
