/*
 * What the entries of this package share, and the entries `checks`, `errors` and `shapes` themselves, whose types say which part
 * of it each has: one file of the build. Each further file takes most of a millisecond to load, in each thread and process.
 */
export * from './checks.js';
export * from './errors.js';
export * from './option-checks.js';
export * from './option-errors.js';
export * from './rdmc-error.js';
export * from './shape.js';
export * from './shapes.js';
export * from './thrown.js';
export * from './whole-number.js';
