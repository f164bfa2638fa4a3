export type { Member } from '@rdmc/mesh';
export type { ProtocolOptions } from '@rdmc/node';
export { type Algorithm, algorithms } from '@rdmc/schedule';
export type { MemoryRegion, OpenDeviceOptions } from '@rdmc/verbs';
export { automaticBlockSize } from './block-size.js';
export { AbortError, GroupError, type GroupErrorCode, groupErrors } from './errors.js';
export { type CloseOptions, Group, type SendOptions } from './group.js';
export type {
  Delivery,
  GroupMember,
  GroupOptions,
  IncomingHandler,
  RegionRange,
  RelayBy,
} from './group-options.js';
export type { WritableOptions } from './group-writable.js';
export { Groups, groups } from './groups.js';
export type { SenderOrder, Senders } from './many/senders.js';
export {
  type LiveNodeOptions,
  type NodeLogger,
  type NodeOptions,
  type PreparedRdmcNode,
  RdmcNode,
} from './node.js';
export type { GroupProgress } from './progress.js';
export type { ReceiveAhead } from './receive-memory.js';
export type { ReceivedMessage } from './received-message.js';
export type { SeriesGap } from './series/series-order.js';
export { type SeriesItem, SeriesReceiver } from './series/series-receiver.js';
export { SeriesSender } from './series/series-sender.js';
export type { GroupSkew, MessageSkew } from './skew/group-skew.js';
export type { Quorum } from './stable/survivor-rules.js';
