export type { ProtocolOptions } from '@rdmc/node';
export type { ChannelCounters } from './channel-counters.js';
export type { ChannelOptions } from './channel-options.js';
export {
  Channels,
  hipower,
  type RequesterOptions,
  type ResponderOptions,
} from './channels.js';
export {
  AbortError,
  HiPowerError,
  type HiPowerErrorCode,
  type HiPowerErrorDetails,
  hiPowerErrors,
  type Progress,
} from './errors.js';
export type { Message } from './message.js';
export { HiPowerNode, type HiPowerNodeOptions, type LiveHiPowerNodeOptions } from './node.js';
export type { Confirmation, Mode } from './records.js';
export type { Requester } from './requester.js';
export type { Responder } from './responder.js';
