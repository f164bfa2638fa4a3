/*
 * The entry `@rdmc/group/machine`: one member's state machine without devices, for programs that run it over simulated
 * hardware. Internal to this repository: it may change in any release.
 */
export {
  DEFAULT_RECEIVE_WINDOW,
  DEFAULT_SEND_WINDOW,
  HEADER_BYTES,
  HEADER_WORDS,
  MAX_WINDOW,
  OPEN_MESSAGES,
} from './constants.js';
export { automaticWindows, type WorkAhead } from './windows.js';
export { type BlockRange, NO_KEY } from './worker/block-range.js';
export { createCounters } from './worker/counters.js';
export { FirstBufferPool, type FirstBuffers } from './worker/first-buffers.js';
export { GroupTrace } from './worker/group-trace.js';
export { GroupMachine } from './worker/machine.js';
export type { MachineConfig } from './worker/machine-config.js';
export { type GroupPort, ProtocolViolation, type Relay, type RelayPort } from './worker/port.js';
