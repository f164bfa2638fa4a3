/*
 * All entries of this package but commands and threads: one file of the build, because each file takes most of a millisecond to load,
 * in each thread and process. The types of an entry say which part of it the entry has.
 */
export * from './index.js';
export * from './internal.js';
export * from './loopback.js';
export * from './sockets.js';
