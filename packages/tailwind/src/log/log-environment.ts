import type { WorkerLink } from '../worker-link.js';
import type { Connections } from './connections.js';
import type { CheckedLogOptions } from './log-options.js';
import type { ReplicaDebts } from './replica-debts.js';

/**
 * What a buffer is for: a new head, a survivor of cleaning, the replacement of a lost replica of an open segment
 * (nothing is acknowledged meanwhile), or that of a closed one.
 */
export type GrantPurpose = 'open' | 'clean' | 'replace' | 'restore';

/** What a log may have to wait for: a buffer, or the coordinator's word after a replacement. */
export type Need = GrantPurpose | 'raise';

/** What the parts of a log share. */
export interface LogEnvironment {
  readonly options: CheckedLogOptions;
  readonly link: WorkerLink;
  readonly connections: Connections;
  readonly debts: ReplicaDebts;
  /** Aborted when the log ends, with the reason. */
  readonly ended: AbortSignal;
  /** Ends the log: it was fenced, or its worker died. */
  fail(error: Error): void;
  /** There is none now, or there is again (undefined). */
  refuse(need: Need, reason: Error | undefined): void;
}
