export type { Subscription } from '@rdmc/common';
export {
  chooseDevice,
  chooseGid,
  type DeviceChoice,
  type DeviceWish,
  deviceProblem,
  networkOf,
} from './choose.js';
export { CompletionChannel } from './completion-channel.js';
export { statusName } from './completion-names.js';
export { CompletionQueue } from './completion-queue.js';
export { MAX_SERVICE_LEVEL, MAX_TRAFFIC_CLASS, MAX_WEIGHT } from './connect-limits.js';
export * from './constants.js';
export type * from './contract.js';
export { attachDevice, Device, type ListenAddress, type OpenDeviceOptions, openDevice } from './device.js';
export type { DeviceEvent } from './device-event.js';
export { AbortError, PostError, VerbsError, type VerbsErrorCode, verbsErrors } from './errors.js';
export { attachRegion, MemoryRegion } from './memory-region.js';
export type { Refusal } from './post-result.js';
export {
  type AccessOptions,
  type AllocateOptions,
  attachProtectionDomain,
  ProtectionDomain,
} from './protection-domain.js';
export { QueuePair } from './queue-pair.js';
export { type CompletionFailure, completionFailure } from './refused-completion.js';
export { remoteKey } from './remote-key.js';
export { SharedReceiveQueue } from './shared-receive-queue.js';
export { SubmissionQueue, type SubmissionQueueOptions } from './submission-queue.js';
export { type DeviceSurvey, surveyRdmaDevices } from './survey.js';
export type { GidType, SurveyedDevice, SurveyedGid, SurveyedPort } from './surveyed-device.js';
export { type TearWritesOptions, tearWrites } from './write-tear.js';
