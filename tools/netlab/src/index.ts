/** The token bucket of each shaped link, each way, where `burst` is not given. */
export { DEFAULT_BURST_BYTES } from './constants.js';
export { attachLab, createLab } from './create.js';
export { NetlabError, type NetlabErrorCode, netlabErrors } from './errors.js';
export type { Goodput } from './goodput.js';
export { Netlab } from './lab.js';
export type { LabOptions, LinkOptions } from './options.js';
export type { Host } from './plan.js';
export { ALL_FEATURES, type Feature, probe } from './probe.js';
export { parseRate } from './rate.js';
export { collectGarbage } from './remove.js';
export { type FoundLab, findLabs } from './state.js';
