import type { ChannelCounters, ChannelOptions } from '@rdmc/hipower';
import type { Usage } from './usage.js';

/** Protocol of the parameters. */
export const PROTOCOLS = ['push', 'pull', 'baseline'] as const;
/** How parameters travel: HiPower's two modes, or confirmation per work request. */
export type Protocol = (typeof PROTOCOLS)[number];

/** One run, for all of its processes. */
export interface Settings {
  /** How gradients and sums travel. */
  readonly protocol: Protocol;
  /** Processes that compute gradients, beside the server. */
  readonly workers: number;
  /** Iterations of the run. */
  readonly iterations: number;
  /** Largest message, in bytes. */
  readonly blockBytes: number;
  /** Slots of each channel. */
  readonly slots: number;
  /** Number of the network's tensors, from the first layer on. */
  readonly tensors: number;
}

/** The role of a process: 0 is the server, 1 to `workers` are workers. */
export interface Place {
  readonly id: number;
  readonly members: readonly { id: number; host: string; port: number }[];
  readonly device: { readonly device: string; readonly transport?: 'shm' | 'tcp' };
  readonly settings: Settings;
}

/** The device of a process, and the reason for it. */
export interface JoinReport {
  readonly device: string;
  readonly reason: string;
}

/** A process's report of one iteration. Times are milliseconds since the epoch, of one machine's clock. */
export interface IterationReport {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly usage: Usage;
  /** SHA-256 of its values at the end; workers only. */
  readonly hash: string | null;
  /** Counters of its ends at the end of the iteration. */
  readonly sent: ChannelCounters;
  readonly received: ChannelCounters;
}

export const SERVER = 0;
export const GRADIENTS = 'gradients';
export const PARAMETERS = 'parameters';

export function channelOptions({ protocol, slots, blockBytes }: Settings): Omit<ChannelOptions, 'channel'> {
  const common = { slots, slotBytes: blockBytes };
  if (protocol === 'baseline') return { ...common, confirmation: 'per-request' };
  return { ...common, mode: protocol };
}
