export type { MemberLoss } from './cluster/messages.js';
export { KvError, type KvErrorCode, kvErrors } from './errors.js';
export type { MonitorOptions } from './monitor/monitor.js';
export type { MemberOptions, ServerEvents, ServerOptions } from './node/cluster-options.js';
export {
  type CoordinatorEvents,
  type CoordinatorOptions,
  KvCoordinator,
} from './node/coordinator-process.js';
export { KvServer } from './node/kv-server.js';
export type { ServerStatistics } from './node/server-statistics.js';
export { Standalone, type StandaloneOptions } from './node/standalone.js';
export type { ServerTls } from './server/client-port.js';
