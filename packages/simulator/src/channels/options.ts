import { optionChecks } from '@rdmc/common/checks';
import type { Cluster } from '../cluster.js';
import { SimulatorError } from '../errors.js';
import { presetNamed } from '../presets.js';

/** The time that a channel costs its threads and NICs, in microseconds. */
export interface ChannelCosts {
  /** Requester: to fill a slot and to post its WRITE. */
  readonly message: number;
  /** Responder: to take a slot, and to release it. */
  readonly delivery: number;
  /** To take one completion, or the completion of a batch. */
  readonly completion: number;
  /** To post a request beside the messages: a READ, a confirmation, a receive. */
  readonly post: number;
  /** One look at a bitmap in memory. */
  readonly look: number;
  /** The NIC's, for each request: in place of the one of the cluster, which is that of large requests. */
  readonly request: number;
}

/**
 * Fitted to two rates of HiPower's Figure 5a: 2.8 million messages per second with a confirmation of each request, and 4.9 million of
 * 512 bytes with bitmaps.
 */
export const defaultChannelCosts: ChannelCosts = {
  message: 0.2,
  delivery: 0.05,
  completion: 0.1,
  post: 0.05,
  look: 0.05,
  request: 0.1,
};

/** Who sends to whom: one to one, several requesters to one responder, or one requester to several responders. */
export type ChannelPattern = 'one' | 'gather' | 'broadcast';

/** Options of `simulateChannels`. */
export interface SimulateChannelsOptions {
  /** A preset's name, or hardware. */
  readonly cluster: string | Cluster;
  /** Who sends to whom. */
  readonly pattern: ChannelPattern;
  /** The requesters of `gather`, or the responders of `broadcast`. Default 4. */
  readonly workers?: number | undefined;
  /** How slots are confirmed. 'per-request': a SEND back for each WRITE with an immediate value (the paper's Vanilla). */
  readonly confirmation: 'bitmap' | 'per-request';
  /** With bitmaps: 'pull' (default), where responders read R, or 'push', where requesters write it behind each batch. */
  readonly mode?: 'pull' | 'push' | undefined;
  /** Bytes of each message: one slot. */
  readonly byteLength: number;
  /** Slots of each channel. Default 256. */
  readonly slots?: number | undefined;
  /** Messages of each requester. Default 20,000. */
  readonly messages?: number | undefined;
  /** Messages per second of each requester; as fast as it goes if it is not given. */
  readonly perSecond?: number | undefined;
  /** In place of some of `defaultChannelCosts`. */
  readonly costs?: Partial<ChannelCosts> | undefined;
  /** Default: what this process may use. A simulation that needs more is refused. */
  readonly memoryLimitBytes?: number | undefined;
}

export interface ChannelSetting {
  readonly cluster: Cluster;
  readonly pattern: ChannelPattern;
  readonly requesters: number;
  readonly responders: number;
  readonly confirmation: 'bitmap' | 'per-request';
  readonly mode: 'pull' | 'push';
  readonly byteLength: number;
  readonly slots: number;
  readonly messages: number;
  /** Microseconds between two messages of a requester; 0: as fast as it goes. */
  readonly interval: number;
  readonly costs: ChannelCosts;
}

const KEYS = [
  ...['cluster', 'pattern', 'workers', 'confirmation', 'mode', 'byteLength', 'slots', 'messages'],
  ...['perSecond', 'costs', 'memoryLimitBytes'],
];
const NAME = 'simulateChannels';
const MOST_WORKERS = 64;
const MOST_SLOTS = 65_536;
const MOST_MESSAGES = 10_000_000;
const { choiceOption, integerOption, onlyKnownOptions } = optionChecks(
  (code, message) => new SimulatorError(code, message),
);
const invalidOption = (message: string) => new SimulatorError('ERR_RDMC_INVALID_OPTION', message);

/** @throws SimulatorError ERR_RDMC_UNKNOWN_PRESET, ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
export function checkChannelOptions(options: SimulateChannelsOptions): ChannelSetting {
  onlyKnownOptions(NAME, options, KEYS);
  const { cluster, pattern, workers = 4, confirmation, mode = 'pull', byteLength, perSecond } = options;
  const { slots = 256, messages = 20_000, costs = {} } = options;
  choiceOption(NAME, 'pattern', pattern, ['one', 'gather', 'broadcast']);
  choiceOption(NAME, 'confirmation', confirmation, ['bitmap', 'per-request']);
  choiceOption(NAME, 'mode', mode, ['pull', 'push']);
  integerOption(NAME, 'workers', workers, 1, MOST_WORKERS);
  integerOption(NAME, 'byteLength', byteLength, 1, 2 ** 31 - 1);
  integerOption(NAME, 'slots', slots, 1, MOST_SLOTS);
  integerOption(NAME, 'messages', messages, 1, MOST_MESSAGES);
  if (perSecond !== undefined && !(perSecond > 0 && perSecond < Number.POSITIVE_INFINITY)) {
    throw invalidOption(`${NAME}: perSecond must be a positive number, not ${String(perSecond)}`);
  }
  const all = { ...defaultChannelCosts, ...costs };
  onlyKnownOptions(`${NAME}: costs`, costs, Object.keys(defaultChannelCosts));
  for (const [name, value] of Object.entries(all)) {
    if (!(value >= 0)) throw invalidOption(`${NAME}: costs.${name} must be 0 or more, not ${String(value)}`);
  }
  return {
    cluster: typeof cluster === 'string' ? presetNamed(cluster) : cluster,
    pattern,
    requesters: pattern === 'gather' ? workers : 1,
    responders: pattern === 'broadcast' ? workers : 1,
    ...{ confirmation, mode, byteLength, slots, messages },
    interval: perSecond === undefined ? 0 : 1e6 / perSecond,
    costs: all,
  };
}
