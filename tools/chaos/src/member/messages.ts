/*
 * Messages between the harness and a member of the cluster, over the pipe between parent and child:
 *
 *   harness ─▶ member   { id, ask: Ask }
 *   member ─▶ harness   { id, result }  or  { id, refusal: Refusal };   first of all { ready: true }
 */
import type { Action } from '../checker/history.js';

/** Settings of a member. One line of JSON on its command line. */
export interface Setup {
  readonly id: number;
  readonly members: readonly { readonly id: number; readonly host: string; readonly port: number }[];
  /** The coordinator's id; this member does not have a backup. */
  readonly coordinator: number;
  readonly clusterId: string;
  /** For the files of this member's backup, or for the coordinator's state. */
  readonly directory: string;
  readonly transport: 'shm' | 'tcp';
  readonly replicas: number;
  readonly segmentBytes: number;
  readonly buffers: number;
  readonly maxSegments: number;
  readonly cleans: boolean;
  readonly leaseMs: number;
  readonly silenceTimeoutMs: number;
  /** True in the network of a laboratory, where no other program runs. */
  readonly isOpenNetwork: boolean;
}

export type Ask =
  | { readonly do: 'lead' }
  | { readonly do: 'take-over'; readonly logId: string }
  | { readonly do: 'apply'; readonly key: string; readonly action: Action }
  /** Several keys in one append. */
  | { readonly do: 'apply-together'; readonly keys: readonly string[]; readonly values: readonly string[] }
  | { readonly do: 'backups' }
  /** How often this member's backup could not write a replica to its disk. */
  | { readonly do: 'failed-flushes' }
  /** The device kills the process after this many further bytes of one-sided writes. */
  | { readonly do: 'tear'; readonly afterBytes: number };

export interface Refusal {
  readonly code: string;
  readonly message: string;
  /** True: not carried out, now or later. False: unknown. */
  readonly isCertain: boolean;
}

export interface Request {
  readonly id: number;
  readonly ask: Ask;
}

export type Answer =
  | { readonly ready: true }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly refusal: Refusal };

/** The code of a member that is not the primary; the request was not carried out. */
export const NOT_PRIMARY = 'NOT_PRIMARY';
