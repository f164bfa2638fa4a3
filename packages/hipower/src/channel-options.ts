import {
  booleanOption,
  choiceOption,
  integerOption,
  onlyKnownOptions,
  signalOption,
  textOption,
} from './check-options.js';
import {
  DEFAULT_CONNECT_TIMEOUT_MS,
  DEFAULT_MAX_IDLE_MS,
  DEFAULT_REFRESH_THRESHOLD,
  DEFAULT_RETRY_TIMEOUT_MS,
  DEFAULT_SLOT_BYTES,
  DEFAULT_SLOTS,
  DEFAULT_SPIN_MS,
  MAX_CHANNEL_NAME_BYTES,
  MAX_PEERS,
  MAX_POOL_BYTES,
  MAX_SLOT_BYTES,
  MAX_SLOTS,
  MAX_TIMEOUT_MS,
  MIN_SLOT_BYTES,
} from './constants.js';
import { HiPowerError, invalidOption } from './errors.js';
import { slotStride } from './layout/footer.js';
import type { Confirmation, Mode } from './records.js';

/** Options of both roles. Slots, sizes, mode and confirmation must be equal on both sides. */
export interface ChannelOptions {
  /** Name of the channel; 1 to 200 bytes. A node has one requester and one responder of a name at most. */
  readonly channel: string;
  /** Outstanding messages, per responder and per requester (default 256, 1 to 8192). */
  readonly slots?: number;
  /** Largest message that is not fragmented, in bytes (default 4096, 8 to 2^30). */
  readonly slotBytes?: number;
  /** How a responder detects messages: it reads the bitmap ('pull', as in the paper), or the requester writes it ('push', default). */
  readonly mode?: Mode;
  /** 'bitmap' (default), or 'per-request': an immediate and a receive per message, and a SEND back per recycled slot. */
  readonly confirmation?: Confirmation;
  /** Share of the slots (0 to 1, default 0.5): with fewer free slots, or fewer unread slots, the bitmap is read again. */
  readonly refreshThreshold?: number;
  /** How long a waiting side looks in every turn before it uses timers, in milliseconds (default 50). */
  readonly spinMs?: number;
  /** Longest pause between two looks of an idle side, in milliseconds (default 4). */
  readonly maxIdleMs?: number;
  /**
   * Push only completed writes: for devices that may place a WRITE before an earlier one of the same queue pair.
   * Default: false on the soft device, which places them in order; true on others. For requesters in push mode.
   */
  readonly pushAfterCompletion?: boolean;
  /** How long requests to an unreachable peer are retried, in milliseconds (default 2000). */
  readonly retryTimeoutMs?: number;
  /** How long to wait for the peers, when connecting and reconnecting, in milliseconds (default 30,000). */
  readonly timeoutMs?: number;
  /** Ends the creation. */
  readonly signal?: AbortSignal;
}

export interface CheckedChannelOptions {
  readonly channel: string;
  readonly peers: readonly number[];
  readonly slots: number;
  readonly slotBytes: number;
  readonly mode: Mode;
  readonly confirmation: Confirmation;
  readonly refreshThreshold: number;
  readonly spinMs: number;
  readonly maxIdleMs: number;
  readonly pushAfterCompletion: boolean;
  readonly retryTimeoutMs: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

const KNOWN = [
  'channel',
  'slots',
  'slotBytes',
  'mode',
  'confirmation',
  'refreshThreshold',
  'spinMs',
  'maxIdleMs',
  'pushAfterCompletion',
  'retryTimeoutMs',
  'timeoutMs',
  'signal',
];

/** Properties of this node that limit the options. */
export interface NodeFacts {
  readonly id: number;
  isMember(id: number): boolean;
  /** Receives that a queue pair of its device can hold. */
  readonly maxReceiveDepth: number;
  /** Its device places the WRITEs of a queue pair in the order of their posting. */
  readonly ordersWrites: boolean;
}

/** @throws HiPowerError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_MEMBER */
export function checkChannelOptions(
  where: string,
  peersName: 'to' | 'from',
  options: ChannelOptions & { readonly to?: unknown; readonly from?: unknown },
  node: NodeFacts,
): CheckedChannelOptions {
  onlyKnownOptions(where, options, [...KNOWN, peersName]);
  const integer = (name: keyof ChannelOptions, fallback: number, least: number, most: number): number =>
    integerOption(where, name, options[name] ?? fallback, least, most);
  const confirmation = choiceOption<Confirmation>(where, 'confirmation', options.confirmation ?? 'bitmap', [
    'bitmap',
    'per-request',
  ]);
  // A receive is posted per slot, and one for the end.
  const maxSlots = confirmation === 'bitmap' ? MAX_SLOTS : Math.min(MAX_SLOTS, node.maxReceiveDepth - 1);
  const peers = peersOf(where, peersName, options[peersName], node);
  const slots = integer('slots', DEFAULT_SLOTS, 1, maxSlots);
  const slotBytes = integer('slotBytes', DEFAULT_SLOT_BYTES, MIN_SLOT_BYTES, MAX_SLOT_BYTES);
  checkPool(where, peersName === 'from' ? peers.length : 1, slots, slotBytes);
  return {
    channel: textOption(where, 'channel', options.channel, MAX_CHANNEL_NAME_BYTES),
    peers,
    slots,
    slotBytes,
    mode: choiceOption<Mode>(where, 'mode', options.mode ?? 'push', ['pull', 'push']),
    confirmation,
    refreshThreshold: shareOf(where, options.refreshThreshold ?? DEFAULT_REFRESH_THRESHOLD),
    spinMs: integer('spinMs', DEFAULT_SPIN_MS, 0, MAX_TIMEOUT_MS),
    maxIdleMs: integer('maxIdleMs', DEFAULT_MAX_IDLE_MS, 1, MAX_TIMEOUT_MS),
    pushAfterCompletion: booleanOption(
      where,
      'pushAfterCompletion',
      options.pushAfterCompletion ?? !node.ordersWrites,
    ),
    retryTimeoutMs: integer('retryTimeoutMs', DEFAULT_RETRY_TIMEOUT_MS, 1, MAX_TIMEOUT_MS),
    timeoutMs: integer('timeoutMs', DEFAULT_CONNECT_TIMEOUT_MS, 1, MAX_TIMEOUT_MS),
    signal: signalOption(where, options.signal),
  };
}

function checkPool(where: string, pools: number, slots: number, slotBytes: number): void {
  const bytes = pools * slots * slotStride(slotBytes);
  if (bytes <= MAX_POOL_BYTES) return;
  throw invalidOption(
    `${where}: ${slots} slots of ${slotBytes} bytes${pools === 1 ? '' : ` from each of ${pools} members`} take ` +
      `${bytes} bytes, and one end holds at most ${MAX_POOL_BYTES}; use fewer or smaller slots`,
  );
}

function shareOf(where: string, share: unknown): number {
  if (typeof share === 'number' && share >= 0 && share <= 1) return share;
  throw invalidOption(`${where}: refreshThreshold must be a number from 0 to 1, not ${String(share)}`);
}

function peersOf(where: string, name: string, value: unknown, node: NodeFacts): number[] {
  const peers: unknown[] = Array.isArray(value) ? value : [value];
  if (peers.length < 1 || peers.length > MAX_PEERS || new Set(peers).size !== peers.length) {
    throw invalidOption(
      `${where}: ${name} must be a member's id, or a list of 1 to ${MAX_PEERS} different ids`,
    );
  }
  for (const id of peers) {
    if (typeof id === 'number' && id !== node.id && node.isMember(id)) continue;
    throw new HiPowerError(
      'ERR_RDMC_UNKNOWN_MEMBER',
      `${where}: ${name} names ${String(id)}, which is not another member of the mesh; name one of its members`,
    );
  }
  return peers as number[];
}
