import type { WorkerLink } from '../worker-link.js';
import type { Connections } from './connections.js';
import type { CheckedLogOptions } from './log-options.js';
import type { StaleReplicas } from './stale-replicas.js';

/**
 * The purpose of a buffer: a new head, a survivor of cleaning, the replacement of a lost replica of an open segment
 * (nothing is acknowledged meanwhile), or that of a closed one.
 */
export type GrantPurpose = 'open' | 'clean' | 'replace' | 'restore';

/** A resource that a log may wait for: a buffer, or the coordinator's confirmation of a replacement. */
export type Need = GrantPurpose | 'raise';

/** Shared by the parts of a log. */
export interface LogEnvironment {
  readonly options: CheckedLogOptions;
  readonly link: WorkerLink;
  readonly connections: Connections;
  readonly staleReplicas: StaleReplicas;
  /** Aborted when the log ends, with the reason. */
  readonly ended: AbortSignal;
  /** Ends the log: it was fenced, or its worker died. */
  fail(error: Error): void;
  /** Sets the reason why a resource is not available now; undefined when it is again. */
  refuse(need: Need, reason: Error | undefined): void;
}
