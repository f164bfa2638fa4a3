export { cacheDirectory, clearCache } from './cache.js';
export { missingPackages } from './debian.js';
export { AbortError, RoceVmError, type RoceVmErrorCode, roceVmErrors } from './errors.js';
export type { Kernel } from './kernel.js';
export type { RunOptions } from './options.js';
export { prepare, runInVm, shellInVm } from './run.js';
