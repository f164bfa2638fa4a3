/*
 * All entries of this package but commands and threads: one file of the build, because each file takes most of a millisecond to load,
 * in each thread and process. The types of an entry say which part of it the entry has. The client of etcd needs HTTP, which few
 * processes do: it is a file of its own.
 */

export * from './backup.js';
export * from './coordinator.js';
export * from './format.js';
export * from './index.js';
export * from './salvage.js';
