export type { DeviceSource } from './agent/device-calls.js';
export type { ChapterName } from './chapters/names.js';
export { ComplianceError, type ComplianceErrorCode, complianceErrors, PeerError } from './errors.js';
export {
  type DeviceFeatures,
  type FeatureName,
  RDMA_DEVICE,
  SOFT_ROCE,
  SOFT_SHM,
  SOFT_TCP,
} from './features.js';
export type { PlacementName } from './placement.js';
export { defineComplianceSuite } from './suite.js';
export type { ComplianceSpec, TestRunner } from './suite-context.js';
