import type { HostAccounts } from './accounts.js';
import type { EntryAttributes } from './entry-attributes.js';
import { SET_GROUP_ID, SET_USER_ID } from './layout.js';

/** The process of a receiver. */
export interface ProcessIds {
  readonly uid: number;
  readonly gid: number;
  /** Also its supplementary groups. */
  readonly groups: ReadonlySet<number>;
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const ROOT = 0;

/** Which owner and which mode bits an entry should have at this host, and which a process may give it. */
export class OwnerRules {
  constructor(
    private readonly own: ProcessIds,
    private readonly accounts: HostAccounts,
  ) {}

  /** The owner of what the process makes. */
  get ownerOfNew(): Owner {
    return { uid: this.own.uid, gid: this.own.gid };
  }

  /** The owner at this host: that of the name, as rsync does it, else that of the number. */
  wanted({ uid, gid, user, group }: EntryAttributes): Owner {
    const { users, groups } = this.accounts;
    return { uid: localId(uid, user, users), gid: localId(gid, group, groups) };
  }

  /** The owner that the process may give to an entry that has an owner already. */
  possible(wanted: Owner, { uid, gid }: Owner): Owner {
    if (this.own.uid === ROOT) return wanted;
    const mayGroup = uid === this.own.uid && this.own.groups.has(wanted.gid);
    return { uid, gid: mayGroup ? wanted.gid : gid };
  }
}

/** Mode bits that an entry with this owner gets: nothing runs with the rights of another owner than the sender's. */
export function specialBits(special: number, wanted: Owner, { uid, gid }: Owner): number {
  const users = uid === wanted.uid ? special : special & ~SET_USER_ID;
  return gid === wanted.gid ? users : users & ~SET_GROUP_ID;
}

export function isSameOwner(a: Owner, b: Owner): boolean {
  return a.uid === b.uid && a.gid === b.gid;
}

/** Root is the same everywhere, whatever its name. */
function localId(id: number, name: string, accounts: HostAccounts['users']): number {
  if (id === ROOT || name === '') return id;
  return accounts.idOf(name) ?? id;
}
