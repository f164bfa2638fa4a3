import { type Algorithm, algorithms, isAlgorithm, type RackId } from '@rdmc/schedule';
import { MAX_SERVICE_LEVEL, MAX_TRAFFIC_CLASS, MAX_WEIGHT, type MemoryRegion } from '@rdmc/verbs';
import * as limits from './constants.js';
import { GroupError, invalidOption } from './errors.js';
import { choiceOption, integerOption, onlyKnownOptions, signalOption } from './options.js';
import { type ReceiveAhead, receiveBytes } from './receive-memory.js';
import { MAX_RANKS } from './stable/ranks.js';
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
  /** Default 'binomial-pipeline'. The same at all members. */
  readonly algorithm?: Algorithm;
  /** Bytes, 1 to 2^30, or 'auto' (default): chosen by the root for each message. The same at all members. */
  readonly blockBytes?: 'auto' | number;
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
   * Default: 8192 in a group of up to 16 members, else 0, because the root itself writes to each receiver. The same at all
   * members.
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
  /** Receives posted ahead, over all neighbours together: 1 to 64, default 32. The same at all members. */
  readonly receiveWindow?: number;
  /** Blocks this member sends at once: 1 to 64, default 4. */
  readonly sendWindow?: number;
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
   * to 16. The soft device's, over shared memory or with `linkRate`. Elsewhere give urgent and bulk groups separate service
   * levels or traffic classes.
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

export interface CheckedGroupOptions {
  readonly id: number;
  readonly members: readonly number[];
  /** Of the members, in their order. */
  readonly incarnations: readonly number[];
  readonly first: number;
  readonly algorithm: Algorithm;
  readonly blockBytes: 'auto' | number;
  readonly racks: readonly RackId[] | undefined;
  readonly incoming: IncomingHandler | undefined;
  readonly receive: ReceiveAhead | undefined;
  readonly smallMessageBytes: number;
  readonly delivery: Delivery;
  readonly quorum: Quorum;
  readonly receiveWindow: number;
  readonly sendWindow: number;
  readonly sendBufferBytes: number;
  readonly retryTimeoutMs: number;
  readonly weight: number;
  readonly trafficClass: number;
  readonly serviceLevel: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

const WHERE = 'createGroup';
const MAX_TIMER_MS = 0x7fff_ffff;
const KNOWN = [
  'id',
  'members',
  'first',
  'algorithm',
  'blockBytes',
  'racks',
  'incoming',
  'receive',
  'smallMessageBytes',
  'delivery',
  'quorum',
  'receiveWindow',
  'sendWindow',
  'sendBufferBytes',
  'retryTimeoutMs',
  'weight',
  'trafficClass',
  'serviceLevel',
  'timeoutMs',
  'signal',
];

/**
 * @param incarnationOf undefined: the mesh does not have the member
 * @throws GroupError with the code of the wrong option
 */
export function checkGroupOptions(
  options: GroupOptions,
  ownId: number,
  incarnationOf: (id: number) => number | undefined,
): CheckedGroupOptions {
  onlyKnownOptions(WHERE, options, KNOWN);
  const members = checkMembers(options.members, ownId, (id) => incarnationOf(id) !== undefined);
  return {
    id: integerOption(WHERE, 'id', options.id, 0, limits.MAX_GROUP_ID),
    members,
    incarnations: members.map((id) => incarnationOf(id)!),
    first: integerOption(WHERE, 'first', options.first ?? 0, 0, Number.MAX_SAFE_INTEGER),
    algorithm: checkAlgorithm(options.algorithm ?? 'binomial-pipeline'),
    blockBytes: checkBlockSize(options.blockBytes ?? 'auto'),
    racks: checkRacks(options, members.length),
    incoming: checkIncoming(options.incoming),
    receive: checkReceive(options.receive),
    smallMessageBytes: integerOption(
      WHERE,
      'smallMessageBytes',
      options.smallMessageBytes ?? defaultSmallBytes(members.length),
      0,
      limits.MAX_SMALL_MESSAGE_BYTES,
    ),
    ...checkDelivery(options, members.length),
    receiveWindow: integerOption(
      WHERE,
      'receiveWindow',
      options.receiveWindow ?? limits.DEFAULT_RECEIVE_WINDOW,
      1,
      limits.MAX_WINDOW,
    ),
    sendWindow: integerOption(
      WHERE,
      'sendWindow',
      options.sendWindow ?? limits.DEFAULT_SEND_WINDOW,
      1,
      limits.MAX_WINDOW,
    ),
    sendBufferBytes: integerOption(
      WHERE,
      'sendBufferBytes',
      options.sendBufferBytes ?? limits.DEFAULT_SEND_BUFFER_BYTES,
      1,
      limits.MAX_SEND_BUFFER_BYTES,
    ),
    retryTimeoutMs: integerOption(
      WHERE,
      'retryTimeoutMs',
      options.retryTimeoutMs ?? limits.DEFAULT_RETRY_TIMEOUT_MS,
      1,
      limits.MAX_RETRY_TIMEOUT_MS,
    ),
    weight: integerOption(WHERE, 'weight', options.weight ?? 1, 1, MAX_WEIGHT),
    trafficClass: integerOption(WHERE, 'trafficClass', options.trafficClass ?? 0, 0, MAX_TRAFFIC_CLASS),
    serviceLevel: integerOption(WHERE, 'serviceLevel', options.serviceLevel ?? 0, 0, MAX_SERVICE_LEVEL),
    timeoutMs: integerOption(
      WHERE,
      'timeoutMs',
      options.timeoutMs ?? limits.DEFAULT_GROUP_TIMEOUT_MS,
      1,
      MAX_TIMER_MS,
    ),
    signal: signalOption(WHERE, options.signal),
  };
}

function defaultSmallBytes(members: number): number {
  return members <= limits.DEFAULT_SMALL_MEMBERS ? limits.DEFAULT_SMALL_MESSAGE_BYTES : 0;
}

function checkMembers(members: unknown, ownId: number, isKnown: (id: number) => boolean): readonly number[] {
  if (!Array.isArray(members))
    throw invalidOption(`${WHERE}: members must be an array of ids, the root first`);
  if (members.length < 2) {
    throw new GroupError(
      'ERR_RDMC_GROUP_TOO_SMALL',
      `${WHERE}: ${members.length} members given; a group needs a root and at least one receiver`,
    );
  }
  const seen = new Set<unknown>();
  members.forEach((id: unknown, rank) => {
    if (seen.has(id)) {
      throw new GroupError('ERR_RDMC_DUPLICATE_MEMBER', `${WHERE}: member ${String(id)} is listed twice`);
    }
    seen.add(id);
    if (!Number.isSafeInteger(id) || !isKnown(id as number)) {
      const who = rank === 0 ? 'the root' : `members[${rank}]`;
      throw new GroupError(
        'ERR_RDMC_UNKNOWN_MEMBER',
        `${WHERE}: ${who} is ${String(id)}, which is not a member of this node's mesh`,
      );
    }
  });
  if (!seen.has(ownId)) {
    throw new GroupError(
      'ERR_RDMC_NOT_A_MEMBER',
      `${WHERE}: this node is member ${ownId}, which is not in the list; only members of the list create the group`,
    );
  }
  return Object.freeze([...(members as number[])]);
}

function checkAlgorithm(algorithm: unknown): Algorithm {
  if (isAlgorithm(algorithm)) return algorithm;
  throw new GroupError(
    'ERR_RDMC_UNKNOWN_ALGORITHM',
    `${WHERE}: unknown algorithm '${String(algorithm)}'; choose one of ${algorithms.join(', ')}`,
  );
}

function checkBlockSize(size: unknown): 'auto' | number {
  if (size === 'auto') return size;
  return integerOption(WHERE, 'blockBytes', size, limits.MIN_BLOCK_BYTES, limits.MAX_BLOCK_BYTES);
}

function checkRacks({ racks, algorithm }: GroupOptions, members: number): readonly RackId[] | undefined {
  if (racks === undefined) {
    if (algorithm !== 'hybrid') return undefined;
    throw invalidOption(`${WHERE}: algorithm 'hybrid' needs racks, the rack of each member`);
  }
  const valid = Array.isArray(racks) && racks.length === members;
  if (valid && racks.every((rack) => typeof rack === 'string' || Number.isSafeInteger(rack)))
    return [...racks];
  throw invalidOption(
    `${WHERE}: racks must be an array of ${members} names or whole numbers, one per member`,
  );
}

function checkDelivery(
  { delivery = 'received', quorum }: GroupOptions,
  members: number,
): Pick<CheckedGroupOptions, 'delivery' | 'quorum'> {
  choiceOption(WHERE, 'delivery', delivery, ['received', 'stable']);
  if (quorum !== undefined) {
    choiceOption(WHERE, 'quorum', quorum, ['majority', 'none']);
    if (delivery !== 'stable') throw invalidOption(`${WHERE}: quorum is for groups with delivery 'stable'`);
  }
  if (delivery === 'stable' && members > MAX_RANKS) {
    throw invalidOption(
      `${WHERE}: a group with delivery 'stable' has at most ${MAX_RANKS} members; ${members} given`,
    );
  }
  return { delivery, quorum: quorum ?? 'majority' };
}

function checkIncoming(incoming: unknown): IncomingHandler | undefined {
  if (incoming === undefined || typeof incoming === 'function')
    return incoming as IncomingHandler | undefined;
  throw invalidOption(`${WHERE}: incoming must be a function that returns memory`);
}

function checkReceive(receive: ReceiveAhead | undefined): ReceiveAhead | undefined {
  if (receive === undefined) return undefined;
  onlyKnownOptions(`${WHERE}: receive`, receive, ['messages', 'byteLength']);
  const { MAX_RECEIVE_MESSAGES, MAX_RECEIVE_BYTES, MAX_RECEIVE_MEMORY_BYTES } = limits;
  const messages = integerOption(WHERE, 'receive.messages', receive.messages, 1, MAX_RECEIVE_MESSAGES);
  const byteLength = integerOption(WHERE, 'receive.byteLength', receive.byteLength, 1, MAX_RECEIVE_BYTES);
  const total = receiveBytes({ messages, byteLength });
  if (total <= MAX_RECEIVE_MEMORY_BYTES) return { messages, byteLength };
  throw invalidOption(
    `${WHERE}: receive asks for ${total} bytes of memory; at most ${MAX_RECEIVE_MEMORY_BYTES} are possible`,
  );
}
