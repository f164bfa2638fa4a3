import type { CheckedGroupOptions } from './checked-group-options.js';
import { GroupError } from './errors.js';

/** A member sends that is not a sender of the group. */
export function notSenderError({ id, members, senders }: CheckedGroupOptions, ownId: number): GroupError {
  if (senders) {
    return new GroupError(
      'ERR_RDMC_NOT_SENDER',
      `Members ${senders.join(', ')} send in group ${id}, and this is member ${ownId}; send there`,
    );
  }
  return new GroupError(
    'ERR_RDMC_NOT_ROOT',
    `Only the root of group ${id}, member ${members[0]}, sends; for another sender create another group, or give \`senders\``,
    { memberId: members[0]! },
  );
}

/** A stream or a series of a group of many senders. */
export function manySendersError(id: number): GroupError {
  return new GroupError(
    'ERR_RDMC_MANY_SENDERS',
    `Group ${id} has many senders: streams and series are for groups of one; use send, and messages()`,
  );
}

/** The root iterates. */
export function rootReceivesNothingError(id: number): GroupError {
  return new GroupError(
    'ERR_RDMC_ROOT_RECEIVES_NOTHING',
    `This node is the root of group ${id}, and does not receive; iterate at the other members. ` +
      'In a pipeline of the root use group.writable()',
  );
}
