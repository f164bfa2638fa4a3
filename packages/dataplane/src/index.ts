export { addCounters, type Counters, type NamedCounter, readCounters } from './counters.js';
export { DataPlane, type EndListener, type PreparedPlaneOptions } from './data-plane.js';
export {
  AbortError,
  DataPlaneError,
  type DataPlaneErrorCode,
  dataPlaneErrors,
  ProtocolError,
} from './errors.js';
export { InlineDriver, type InlineOptions } from './inline-driver.js';
export type { DataPlaneOptions, PlaneTrace, ProtocolModule, WorkerSettings } from './options.js';
export { PreparedWorker } from './prepared-worker.js';
export {
  type CompletionHandler,
  type Protocol,
  type ProtocolContext,
  type ProtocolWorker,
  protocolWorker,
} from './protocol.js';
export {
  bytes,
  type Call,
  type CommandHandlers,
  call,
  type EventHandlers,
  json,
  nothing,
  numbers,
  type Payload,
  type Post,
  type ProtocolClient,
  post,
  type RecordTable,
  recordTable,
} from './record-table.js';
export { type TraceSink, type TraceSubject, traceSubject } from './trace/recorder.js';
