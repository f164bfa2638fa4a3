import type { CheckedGroupOptions } from './checked-group-options.js';
import { GROUP_PROTOCOL_VERSION } from './constants.js';
import { GroupError } from './errors.js';

/** The options that must be equal at all members of a group. */
export interface Agreement {
  readonly version: number;
  readonly members: readonly number[];
  /** Of the members, in their order. */
  readonly incarnations: readonly number[];
  readonly first: number;
  /** Of a group of many senders. */
  readonly senders: readonly number[] | null;
  readonly order: string;
  readonly algorithm: string;
  readonly blockBytes: 'auto' | number;
  readonly relay: string;
  readonly racks: readonly (string | number)[] | null;
  readonly receiveWindow: number;
  readonly smallMessageBytes: number;
  readonly delivery: string;
  readonly quorum: string;
  readonly arrivals: boolean;
}

/** In the order in which differences are reported: the version first, because the others depend on it. */
const FIELDS = [
  'version',
  'members',
  'incarnations',
  'first',
  'senders',
  'order',
  'algorithm',
  'blockBytes',
  'relay',
  'racks',
  'receiveWindow',
  'smallMessageBytes',
  'delivery',
  'quorum',
  'arrivals',
] as const;

const SAME_VALUE = 'give all members the same value';
const ADVICE: Readonly<Record<(typeof FIELDS)[number], string>> = {
  version: SAME_VALUE,
  members: SAME_VALUE,
  incarnations: 'a member was replaced meanwhile; create the group again',
  first: SAME_VALUE,
  senders: SAME_VALUE,
  order: SAME_VALUE,
  algorithm: SAME_VALUE,
  blockBytes: SAME_VALUE,
  relay: SAME_VALUE,
  racks: SAME_VALUE,
  receiveWindow: SAME_VALUE,
  smallMessageBytes: SAME_VALUE,
  delivery: SAME_VALUE,
  quorum: SAME_VALUE,
  arrivals: SAME_VALUE,
};

export function agreementOf(options: CheckedGroupOptions): Agreement {
  const { members, incarnations, first, senders, order, algorithm, blockBytes, racks } = options;
  const { relay, receiveWindow, smallMessageBytes, delivery, quorum, arrivals } = options;
  return {
    version: GROUP_PROTOCOL_VERSION,
    members,
    incarnations,
    first,
    senders: senders ?? null,
    order,
    algorithm,
    blockBytes,
    relay,
    racks: racks ?? null,
    receiveWindow,
    smallMessageBytes,
    delivery,
    quorum,
    arrivals,
  };
}

/** An error with the first difference and both values, or `undefined`. */
export function disagreement(
  group: number,
  own: Agreement,
  ownId: number,
  theirs: Agreement,
  theirId: number,
): GroupError | undefined {
  for (const field of FIELDS) {
    if (isSame(own[field], theirs[field])) continue;
    const [mine, other] = [JSON.stringify(own[field]), JSON.stringify(theirs[field])];
    return new GroupError(
      'ERR_RDMC_GROUP_MISMATCH',
      `Group ${group}: ${field} is ${mine} at member ${ownId} and ${other} at member ${theirId}; ${ADVICE[field]}`,
      { field, memberId: theirId },
    );
  }
  return undefined;
}

/** A member of a large group compares the lists of all its neighbours: as text that takes most of its time. */
function isSame(mine: unknown, other: unknown): boolean {
  if (!Array.isArray(mine)) return mine === other;
  return (
    Array.isArray(other) &&
    mine.length === other.length &&
    mine.every((each, index) => each === (other as unknown[])[index])
  );
}
