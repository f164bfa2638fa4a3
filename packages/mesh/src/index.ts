export type { ConnectionListener } from './connections.js';
export {
  AbortError,
  MeshError,
  type MeshErrorCode,
  type MeshErrorDetails,
  MeshRemoteError,
  type MissingMember,
  meshErrors,
  type ProcessName,
} from './errors.js';
export type { MeshFailure } from './frames.js';
export type { MemberEvent } from './live/member-event.js';
export type { MemberListener } from './live/member-events.js';
export type { Member } from './member.js';
export { Mesh } from './mesh.js';
export { type FrameHandler, MeshConnection } from './mesh-connection.js';
export type { MeshPeer } from './mesh-core.js';
export type { MessageListener, RequestHandler } from './messaging.js';
export type {
  CommonOptions,
  Introducer,
  LiveMeshOptions,
  MeshAttributes,
  MeshLogger,
  MeshOptions,
} from './options.js';
export type { RequestOptions } from './requests.js';
