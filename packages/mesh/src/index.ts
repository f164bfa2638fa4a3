export type { ConnectionListener } from './connections.js';
export {
  AbortError,
  MeshError,
  type MeshErrorCode,
  type MeshErrorDetails,
  MeshRemoteError,
  type MissingMember,
  meshErrors,
} from './errors.js';
export { FrameReader } from './frame-reader.js';
export { encodeFrame, type Frame, type MeshFailure } from './frames.js';
export { KeyedSockets, type KeyedSocketsOptions } from './keyed-sockets.js';
export type { Member } from './member.js';
export { describeAddress, isLoopbackHost } from './members.js';
export { Mesh, type MeshPeer } from './mesh.js';
export { type FrameHandler, MeshConnection } from './mesh-connection.js';
export type { MessageListener, RequestHandler } from './messaging.js';
export { type MeshAttributes, type MeshLogger, type MeshOptions, meshOptionNames } from './options.js';
export type { RequestOptions } from './requests.js';
export { type ReservedPort, reserveLoopbackPorts } from './reserve-ports.js';
