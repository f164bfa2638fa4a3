export { cacheDirectory, clearCache } from './cache.js';
export { missingPackages } from './debian.js';
export { RoceVmError, type RoceVmErrorCode } from './errors.js';
export type { Kernel } from './kernel.js';
export type { RunOptions } from './options.js';
export { prepare, runInVm, shellInVm } from './run.js';
