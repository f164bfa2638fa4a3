import { setTimeout as delay } from 'node:timers/promises';
import { RETIRE_SPREAD_MS, RETIRE_TURN_MS } from '../limits.js';
import type { DrainedServers } from './drained-servers.js';

export interface RetireOptions {
  readonly self: number;
  readonly drained: Pick<DrainedServers, 'isGoing' | 'onGoing'>;
  /** The servers that are here. */
  readonly servers: () => readonly number[];
  /** Has other backups keep what this one keeps of this server's log. */
  readonly retire: (member: number) => void;
  readonly ended: AbortSignal;
  /** Rejects when `ended` is aborted (default: a timer). */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** Does without the backups of drained servers. The servers do so one after the other, since copies and their checks slow down commands. */
export function retireInTurn({ self, drained, servers, retire, ended, ...options }: RetireOptions): void {
  const { wait = (ms: number) => delay(ms, undefined, { signal: ended }) } = options;
  drained.onGoing((member) => {
    if (member === self) return;
    const others = servers()
      .filter((id) => id !== member)
      .sort((a, b) => a - b);
    const waitMs = Math.min(RETIRE_TURN_MS, RETIRE_SPREAD_MS / others.length) * others.indexOf(self);
    const begin = (): void => {
      // It may be wanted, or needed, again.
      if (drained.isGoing(member)) retire(member);
    };
    void wait(waitMs).then(begin, () => {});
  });
}
