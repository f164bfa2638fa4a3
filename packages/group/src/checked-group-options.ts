import { type Algorithm, algorithms, isAlgorithm, type RackId } from '@rdmc/schedule';
import { MAX_SERVICE_LEVEL, MAX_TRAFFIC_CLASS, MAX_WEIGHT } from '@rdmc/verbs';
import * as limits from './constants.js';
import { GroupError, invalidOption } from './errors.js';
import type { Delivery, GroupOptions, IncomingHandler, RelayBy } from './group-options.js';
import { checkSenders } from './many/sender-options.js';
import type { SenderOrder } from './many/senders.js';
import { booleanOption, choiceOption, integerOption, onlyKnownOptions, signalOption } from './options.js';
import { type ReceiveAhead, receiveBytes } from './receive-memory.js';
import { MAX_RANKS } from './stable/ranks.js';
import type { Quorum } from './stable/survivor-rules.js';

export interface CheckedGroupOptions {
  readonly id: number;
  readonly members: readonly number[];
  /** Of the members, in their order. */
  readonly incarnations: readonly number[];
  readonly first: number;
  /** Of a group of many senders: their ids, in the order of the members. */
  readonly senders: readonly number[] | undefined;
  readonly order: SenderOrder;
  readonly algorithm: Algorithm;
  readonly blockBytes: 'auto' | number;
  readonly relay: RelayBy;
  readonly racks: readonly RackId[] | undefined;
  readonly incoming: IncomingHandler | undefined;
  readonly receive: ReceiveAhead | undefined;
  readonly smallMessageBytes: number;
  readonly delivery: Delivery;
  readonly quorum: Quorum;
  readonly arrivals: boolean;
  readonly receiveWindow: number;
  /** Undefined: automatic. */
  readonly sendWindow: number | undefined;
  readonly readyWindow: number | undefined;
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
  'senders',
  'order',
  'algorithm',
  'blockBytes',
  'relay',
  'racks',
  'incoming',
  'receive',
  'smallMessageBytes',
  'delivery',
  'quorum',
  'arrivals',
  'receiveWindow',
  'sendWindow',
  'readyWindow',
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
    ...checkSenders(options, members),
    algorithm: checkAlgorithm(options.algorithm ?? 'binomial-pipeline'),
    blockBytes: checkBlockSize(options.blockBytes ?? 'auto'),
    relay: choiceOption(WHERE, 'relay', options.relay ?? 'worker', ['worker', 'device']),
    racks: checkRacks(options, members.length),
    incoming: checkIncoming(options.incoming),
    receive: checkReceive(options.receive),
    smallMessageBytes: integerOption(
      WHERE,
      'smallMessageBytes',
      options.smallMessageBytes ?? limits.DEFAULT_SMALL_MESSAGE_BYTES,
      0,
      limits.MAX_SMALL_MESSAGE_BYTES,
    ),
    ...checkDelivery(options, members.length),
    arrivals: booleanOption(WHERE, 'arrivals', options.arrivals ?? false),
    receiveWindow: integerOption(
      WHERE,
      'receiveWindow',
      options.receiveWindow ?? limits.DEFAULT_RECEIVE_WINDOW,
      1,
      limits.MAX_WINDOW,
    ),
    sendWindow: checkWindow('sendWindow', options.sendWindow),
    readyWindow: checkWindow('readyWindow', options.readyWindow),
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

function checkWindow(name: string, window: unknown): number | undefined {
  return window === undefined ? undefined : integerOption(WHERE, name, window, 1, limits.MAX_WINDOW);
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
  { order, delivery = order === 'total' ? 'stable' : 'received', quorum }: GroupOptions,
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
