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
export type { MeshFailure } from './frames.js';
export type { Member } from './member.js';
export { Mesh, type MeshPeer } from './mesh.js';
export { type FrameHandler, MeshConnection } from './mesh-connection.js';
export type { MessageListener, RequestHandler } from './messaging.js';
export type { MeshAttributes, MeshLogger, MeshOptions } from './options.js';
export type { RequestOptions } from './requests.js';
