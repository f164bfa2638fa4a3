export { type Block, blocksOf } from './blocks.js';
export { ParamServerError, paramServerErrors } from './errors.js';
export { fillGradients } from './gradients.js';
export { hashOf, referenceSum } from './reference.js';
export { resnet152, type Tensor } from './resnet152.js';
export { type RunEvents, run } from './run.js';
export { PROTOCOLS, type Protocol, type Settings } from './settings.js';
export type { IterationResult } from './summary.js';
