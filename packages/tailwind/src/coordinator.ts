/** Entry of the coordinator of logs, its clients, and the stores of its state. */
export { bootClock, type Clock } from './clock.js';
export { Coordinator, type CoordinatorOptions } from './coordinator/coordinator.js';
export { CoordinatorClient, type RecoveryAttempt } from './coordinator/coordinator-client.js';
export { FileStore } from './coordinator/file-store.js';
export type { Lead } from './coordinator/lead-view.js';
export { Lease } from './coordinator/lease.js';
export type { LogRecord, SalvagedSegment } from './coordinator/log-record.js';
export type { LevelStore, StateStore, StoredValue } from './coordinator/state-store.js';
export { CoordinatorChannel } from './coordinator/term-channel.js';
