export { MemberError, type MemberErrorCode, type MemberErrorDetails } from './errors.js';
export { type JoinedMember, joinMember, type MemberOptions } from './join-member.js';
export { MemberDevice } from './member-device.js';
