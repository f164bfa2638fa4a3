import { GROUP_PROTOCOL_VERSION } from './constants.js';
import { GroupError } from './errors.js';
import type { CheckedGroupOptions } from './group-options.js';

/** The options that must be equal at all members of a group. */
export interface Agreement {
  readonly version: number;
  readonly members: readonly number[];
  readonly algorithm: string;
  readonly blockBytes: 'auto' | number;
  readonly racks: readonly (string | number)[] | null;
  readonly receiveWindow: number;
  readonly smallMessageBytes: number;
}

/** In the order in which differences are reported: the version first, because the others depend on it. */
const FIELDS = [
  'version',
  'members',
  'algorithm',
  'blockBytes',
  'racks',
  'receiveWindow',
  'smallMessageBytes',
] as const;

export function agreementOf(options: CheckedGroupOptions): Agreement {
  const { members, algorithm, blockBytes, racks, receiveWindow, smallMessageBytes } = options;
  return {
    version: GROUP_PROTOCOL_VERSION,
    members,
    algorithm,
    blockBytes,
    racks: racks ?? null,
    receiveWindow,
    smallMessageBytes,
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
    const [mine, other] = [JSON.stringify(own[field]), JSON.stringify(theirs[field])];
    if (mine === other) continue;
    return new GroupError(
      'ERR_RDMC_GROUP_MISMATCH',
      `Group ${group}: ${field} is ${mine} at member ${ownId} and ${other} at member ${theirId}; ` +
        'give all members the same value',
      { field, memberId: theirId },
    );
  }
  return undefined;
}
