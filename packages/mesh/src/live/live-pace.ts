import { HEARTBEAT_MS_PER_MEMBER, SILENT_HEARTBEATS, TICKS_PER_HEARTBEAT } from '../constants.js';
import type { Pace } from '../heartbeats.js';
import type { ResolvedLiveOptions } from '../options.js';

export type PaceOptions = Pick<ResolvedLiveOptions, 'heartbeatMs' | 'silenceTimeoutMs'>;

/** The times of heartbeats of a member with so many connections. */
export function livePace(options: PaceOptions, connections: number): Pace {
  const { silenceTimeoutMs } = options;
  const intervalMs = intervalOf(options, connections + 1);
  return {
    tickMs: Math.max(1, Math.floor(intervalMs / TICKS_PER_HEARTBEAT)),
    ticks: TICKS_PER_HEARTBEAT,
    silenceMs: silenceTimeoutMs === 0 ? 0 : Math.max(silenceTimeoutMs, SILENT_HEARTBEATS * intervalMs),
  };
}

/**
 * Ticks by which the first heartbeat on a new connection is sent later. Members that join at once make most of their
 * connections within seconds, and heartbeats would slow them down. In a larger mesh it is not delayed: a peer that has few
 * connections yet, and therefore a shorter limit, would take this member for silent. The roster counts, because it is nearly
 * complete before the connections are.
 */
export function firstHeartbeatDelay(options: PaceOptions, members: number): number {
  const isEarly = SILENT_HEARTBEATS * intervalOf(options, members) <= options.silenceTimeoutMs;
  return isEarly ? TICKS_PER_HEARTBEAT : 0;
}

function intervalOf({ heartbeatMs }: PaceOptions, members: number): number {
  return Math.max(heartbeatMs, HEARTBEAT_MS_PER_MEMBER * members);
}
