import type { Membership, MembershipLimits, MembershipPort } from '../../src/live/membership.js';
import type { RosterEntry } from '../../src/live/roster.js';

type Machine = new (self: RosterEntry, port: MembershipPort, limits: MembershipLimits) => Membership;

/** The variant to check: the protocol, or one of its wrong variants. */
export interface Setting {
  /** The id of the process that gets a successor; the other two members have the rest of 0, 1 and 2. */
  readonly id: number;
  /** Without the second of the other members. */
  readonly isPair?: boolean;
  /** How often an end of a connection of the process may break. */
  readonly breaks?: number;
  /** The process may be stopped, and continues at any later time. */
  readonly stops?: boolean;
  /** The process may leave. */
  readonly leaves?: boolean;
  /** Another process with the id starts. */
  readonly successor?: boolean;
  readonly replace?: boolean;
  readonly machine?: Machine;
  /** The incarnation of the successor. */
  readonly incarnation?: (kept: number, known: number) => number;
  /** The port does not close a connection that the machine ends. */
  readonly keepsConnections?: boolean;
}
