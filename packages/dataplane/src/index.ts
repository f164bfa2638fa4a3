export { type Counters, type NamedCounter, readCounters } from './counters.js';
export { DataPlane, type DeathListener } from './data-plane.js';
export { DataPlaneError, ProtocolError } from './errors.js';
export type { EventListener } from './event-inbox.js';
export type { DataPlaneOptions, Logger, ProtocolModule } from './options.js';
export type { CompletionHandler, Protocol, ProtocolContext, ProtocolFactory } from './protocol.js';
