/*
 * What several entries of this package share: one file of the build, which every entry imports. A thread that loads them all
 * would load a file for each combination of entries else, and each file takes most of a millisecond.
 */
export * from './option-checks.js';
export * from './option-errors.js';
export * from './rdmc-error.js';
export * from './shape.js';
export * from './thrown.js';
export * from './whole-number.js';
