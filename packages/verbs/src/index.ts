export { CompletionChannel } from './completion-channel.js';
export { CompletionQueue, statusName } from './completion-queue.js';
export * from './constants.js';
export type * from './contract.js';
export {
  attachDevice,
  chooseDevice,
  Device,
  type DeviceChoice,
  type OpenDeviceOptions,
  openDevice,
} from './device.js';
export { PostError, VerbsError } from './errors.js';
export { EventFd, eventfdSignaller, FdWatcher, threadCpuSeconds, yieldProcessor } from './eventfd.js';
export { attachRegion, MemoryRegion } from './memory-region.js';
export { type AccessOptions, attachProtectionDomain, ProtectionDomain } from './protection-domain.js';
export { QueuePair } from './queue-pair.js';
export { SubmissionQueue } from './submission-queue.js';
