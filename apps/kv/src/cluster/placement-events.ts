import type { MemberLoss } from './messages.js';

/** What a coordinator's placement of slots tells. */
export interface PlacementEvents {
  /** A server's log is recovered, and its slots are served again. `server` had the log. */
  recovered?(event: {
    logId: string;
    server: number | undefined;
    entries: number;
    milliseconds: number;
  }): void;
  /** Without a log: slots cannot be given out at all now. It is tried again. */
  failed?(event: {
    logId: string | undefined;
    server: number | undefined;
    code: string;
    reason: string;
  }): void;
  /** Every slot has a server now, by another table than before. */
  serving?(epoch: number): void;
  /** Slots were handed over from one server to another. */
  moved?(event: { source: number; target: number; slots: number }): void;
  /** Each server has its share of the slots. */
  balanced?(): void;
  /** Slots could not be handed over: their server has them as before. It is tried again; where it was for ERR_RDMC_KV_SERVER_FULL, with other servers. */
  notMoved?(event: { source: number; target: number; code: string; reason: string }): void;
  /** A server is gone. */
  memberLost?(event: MemberLoss): void;
}
