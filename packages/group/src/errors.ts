import { errorTable, optionErrors, RdmcError } from '@rdmc/common';

export { AbortError, isCodeOf, messageOf, throwIfAborted } from '@rdmc/common';

/** Every code a {@link GroupError} of this package can carry. They are stable; messages are not. */
export const groupErrors = errorTable({
  ...optionErrors,
  ERR_RDMC_UNKNOWN_ALGORITHM: ['usage', 'no algorithm has this name', 'take one of `algorithms`'],
  ERR_RDMC_GROUP_TOO_SMALL: ['usage', 'a group has at least two members', 'name another member'],
  ERR_RDMC_DUPLICATE_MEMBER: ['usage', 'the list names a member twice', 'name each member once'],
  ERR_RDMC_UNKNOWN_MEMBER: [
    'usage',
    'the list names a member that the mesh does not have',
    'name members of the mesh',
  ],
  ERR_RDMC_NOT_A_MEMBER: [
    'usage',
    'the list does not have this member',
    'let the members of the list create the group',
  ],
  ERR_RDMC_RELAY_UNSUPPORTED: [
    'usage',
    "`relay: 'device'`, and the device does not execute requests that wait",
    'leave `relay` out, or take the soft device',
  ],
  ERR_RDMC_GROUP_EXISTS: [
    'usage',
    'the id is in use at this node',
    'close that group first, or take another id',
  ],
  ERR_RDMC_TOO_MANY_GROUPS: ['resource', 'too many groups are open at this node', 'close some first'],
  ERR_RDMC_GROUP_MISMATCH: [
    'refused',
    'members gave different options',
    'give all members the same; `field` names the option',
  ],
  ERR_RDMC_GROUP_TIMEOUT: [
    'timeout',
    'members did not create the group in time',
    'check the members in `missing`; each calls createGroup with the same id',
  ],
  ERR_RDMC_NOT_ROOT: [
    'usage',
    'a member other than the root sends',
    'send at the root, or make another group',
  ],
  ERR_RDMC_NOT_SENDER: [
    'usage',
    'a member sends that is not in `senders`',
    "send at a sender, or create the group with `senders: 'all'`",
  ],
  ERR_RDMC_MANY_SENDERS: [
    'usage',
    'streams and series are for groups of one sender',
    'use send and messages, or a group for each sender',
  ],
  ERR_RDMC_ROOT_RECEIVES_NOTHING: ['usage', 'the root iterates over messages', 'iterate at the receivers'],
  ERR_RDMC_ITERATOR_TAKEN: [
    'usage',
    'the group has a consumer already',
    'share the messages of that consumer',
  ],
  ERR_RDMC_MEMBER_LOST: [
    'peer-lost',
    'the group failed because a member was lost',
    'close it, and create a new group of the others',
  ],
  ERR_RDMC_GROUP_MINORITY: [
    'peer-lost',
    'with stable delivery, too few members are left, or they exclude this one',
    'ask the other members what they delivered',
  ],
  ERR_RDMC_PROTOCOL: ['refused', 'a member broke the wire protocol', 'run the same version at all members'],
  ERR_RDMC_POST_FAILED: [
    'resource',
    'the device of this member refused a request',
    'keep regions open until their messages are sent',
  ],
  ERR_RDMC_INCOMING_FAILED: ['usage', '`incoming` threw, or gave memory that does not fit', 'see the cause'],
  ERR_RDMC_INVALID_REGION: [
    'usage',
    'memory is closed, too short, or of another node',
    'allocate it with this node',
  ],
  ERR_RDMC_INVALID_MESSAGE: [
    'usage',
    'a message is neither bytes nor a region, or its buffer was detached',
    'give a Uint8Array or a region, and keep it until send resolves',
  ],
  ERR_RDMC_MESSAGE_TOO_LARGE: [
    'usage',
    'the message is longer than the memory for copies, or than smallMessageBytes',
    'send a region, or raise sendBufferBytes; many senders: raise smallMessageBytes',
  ],
  ERR_RDMC_STREAM_TAKEN: [
    'usage',
    'the group has a writable stream already',
    'write into that stream, or end it first',
  ],
  ERR_RDMC_STREAM_DESTROYED: [
    'aborted',
    'a stream of the group was destroyed before its end, so the group failed',
    'see the cause; create another group',
  ],
  ERR_RDMC_TOO_MANY_BLOCKS: [
    'usage',
    'the message would have too many blocks',
    'create the group with larger blocks',
  ],
  ERR_RDMC_CLOSE_UNKNOWN: [
    'peer-lost',
    'it is not known whether every message reached every member',
    'ask the members in `missing`',
  ],
  ERR_RDMC_GROUP_CLOSED: ['closed', 'the group is closing, or closed', 'create another group'],
  ERR_RDMC_NODE_CLOSED: ['closed', 'the node is closed', 'join again'],
  ERR_RDMC_DATAPLANE_DIED: [
    'internal',
    'the worker of this member died',
    'see the cause; close the node and join again',
  ],
  ERR_RDMC_DEVICE_REMOVED: [
    'resource',
    'the RDMA device of this member is gone',
    'close the node, and join again with another',
  ],
});
/** The stable codes of this package's errors; `groupErrors` has their meaning. */
export type GroupErrorCode = keyof typeof groupErrors;

export interface GroupErrorDetails {
  readonly cause?: unknown;
  /** The member that the error is about. */
  readonly memberId?: number;
  /** The observed failure. */
  readonly reason?: string;
  /** Members that did not join, or have not confirmed. */
  readonly missing?: readonly number[];
  /** The option in which members differ. */
  readonly field?: string;
  /** See {@link GroupError.delivered}. */
  readonly delivered?: ReadonlyMap<number, number>;
  /** See {@link GroupError.deliveredFrom}. */
  readonly deliveredFrom?: ReadonlyMap<number, ReadonlyMap<number, number>>;
  /** See {@link GroupError.excluded}. */
  readonly excluded?: readonly number[];
}

/** The error of this package, beside `AbortError`. Tell cases apart by `code`. */
export class GroupError extends RdmcError<GroupErrorCode> {
  override readonly name = 'GroupError';
  /** The observed failure, as text. */
  readonly reason: string | undefined;
  /** Ids of members that did not join, or have not confirmed. */
  readonly missing: readonly number[] | undefined;
  /** The option in which members differ. */
  readonly field: string | undefined;
  /**
   * After the failure of a group: how many messages each receiver has, by member. A receiver that has n has the messages 0 to
   * n − 1, and gets no further one of this group. Lost members are missing, and survivors that did not say it within 1 s, or
   * that were not heard yet where this member itself has failed. A member that ended the group itself, for example by closing
   * its node, counts as a survivor.
   *
   * With stable delivery: the survivors that receive, all with the number of messages that they have agreed on; with
   * ERR_RDMC_GROUP_MINORITY, and where this member itself has failed, only this member.
   */
  readonly delivered: ReadonlyMap<number, number> | undefined;
  /**
   * After the failure of a group of many senders: `delivered` by sender. `deliveredFrom.get(receiver).get(sender)` is n where
   * that receiver has the first n messages of that sender. A sender that does not receive its own messages is missing in its
   * own map.
   */
  readonly deliveredFrom: ReadonlyMap<number, ReadonlyMap<number, number>> | undefined;
  /** With stable delivery: ids of the members that the survivors have agreed to exclude; the others may form a new group. */
  readonly excluded: readonly number[] | undefined;

  constructor(code: GroupErrorCode, message: string, details: GroupErrorDetails = {}) {
    super(code, message, details);
    this.reason = details.reason;
    this.missing = details.missing;
    this.field = details.field;
    this.delivered = details.delivered;
    this.deliveredFrom = details.deliveredFrom;
    this.excluded = details.excluded;
  }
}

export function invalidOption(message: string): GroupError {
  return new GroupError('ERR_RDMC_INVALID_OPTION', message);
}
