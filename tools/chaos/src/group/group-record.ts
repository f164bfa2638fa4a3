import type { Exit } from '@rdmc/testing/watched-process';
import type { Violation } from '../checker/check.js';
import type { Delivery } from './delivery-log.js';
import type { Ended } from './group-messages.js';

/** What is known of one member. */
export interface MemberRecord {
  readonly id: number;
  readonly deliveries: readonly Delivery[];
  /** Messages that it has sent, or begun to send. */
  readonly sends: number;
  /** Undefined: its process ended before. */
  readonly end: Ended | undefined;
  /** How its process has ended. */
  readonly exit: Exit;
}

/** A run of a group. */
export interface GroupRecord {
  /** Ids, the root first. */
  readonly members: readonly MemberRecord[];
  readonly senders: readonly number[];
  /** `root`: one sender, which does not get its own messages. */
  readonly order: 'total' | 'sender' | 'root';
  readonly quorum: 'majority' | 'none';
  /** Members were only killed, and silence is not detected: nobody suspects a member that lives. */
  readonly isCertain: boolean;
  /** Members that the plan kills, or that may have killed themselves. */
  readonly mayDie: readonly number[];
}

/** How a group ends at a member. Everything else is a violation, and `unformed` where all members live. */
export type Fate = 'closed' | 'survivor' | 'minority' | 'killed' | 'unformed';

export function fateOf({ end, exit }: MemberRecord): Fate | undefined {
  if (!end) return isKill(exit) ? 'killed' : undefined;
  if (end.isUnformed) return 'unformed';
  if (!end.error) return 'closed';
  const { code, excluded } = end.error;
  if (code === 'ERR_RDMC_MEMBER_LOST' && excluded) return 'survivor';
  return code === 'ERR_RDMC_GROUP_MINORITY' ? 'minority' : undefined;
}

export function isKill({ signal }: Exit): boolean {
  return signal === 'SIGKILL';
}

export function isSurvivor(member: MemberRecord): boolean {
  const fate = fateOf(member);
  return fate === 'closed' || fate === 'survivor';
}

export function violationOf({ id }: MemberRecord, message: string): Violation {
  return { key: `member ${id}`, message: `member ${id} ${message}` };
}

/** Whether a member gets messages of that sender. */
export function getsFrom({ order, senders }: GroupRecord, member: number, sender: number): boolean {
  return senders.includes(sender) && (order === 'total' || member !== sender);
}
