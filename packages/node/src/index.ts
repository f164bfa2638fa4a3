export { NodeError, type NodeErrorCode, type NodeErrorDetails, nodeErrors } from './errors.js';
export { joinLoopback, LoopbackNodes, type LoopbackPlace } from './loopback.js';
export { type LoopbackOptions, Node, type NodeWith } from './node.js';
export type {
  AnyJoinOptions,
  JoinOptions,
  LiveJoinOptions,
  LiveNodeOptions,
  NodeOptions,
  OwnOptions,
  PreparedJoinOptions,
  PrepareOptions,
  ProtocolsOption,
} from './node-options.js';
export {
  type NodeApi,
  type NodeContext,
  type NodeLogger,
  type NodeProtocol,
  nodeProtocol,
  type ProtocolOptions,
  type Protocols,
} from './node-protocol.js';
export { PreparedNode } from './prepared-node.js';
export { ShortForm } from './short-form.js';
export { type Participant, type Topic, TopicDirectory } from './topic-directory.js';
