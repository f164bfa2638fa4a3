export {
  type ChannelCosts,
  type ChannelPattern,
  defaultChannelCosts,
  type SimulateChannelsOptions,
} from './channels/options.js';
export { type ChannelReport, simulateChannels } from './channels/simulate-channels.js';
export type { Cluster, HostCosts, NicCosts } from './cluster.js';
export { SimulatorError, type SimulatorErrorCode, simulatorErrors } from './errors.js';
export type { RackCrossings, SlowPair } from './fabric.js';
export type { Delay } from './group-run.js';
export type { SimulatedObject } from './objects.js';
export type { SimulateObjectsOptions, SimulateOptions } from './options.js';
export type { Preemption, PreemptionRate } from './preemption.js';
export { idealCluster, presets } from './presets.js';
export {
  defaultRecoveryCosts,
  type RecoveryCosts,
  type SimulateRecoveryOptions,
} from './recovery/options.js';
export {
  type RecoveryReport,
  type RecoveryServerReport,
  simulateRecovery,
} from './recovery/simulate-recovery.js';
export type { HostReport, MessageReport, SimulationReport } from './report.js';
export { simulate, simulateObjects, simulationBytes } from './simulate.js';
export type { TraceRecord, WaitedFor } from './trace.js';
export { type ValidationCase, validate } from './validate.js';
export { type Windows, type WindowsName, windowsByName } from './windows.js';
