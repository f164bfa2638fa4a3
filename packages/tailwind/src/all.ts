/*
 * All entries of this package but commands and threads: one file of the build, because each file takes most of a millisecond to load,
 * in each thread and process. The types of an entry say which part of it the entry has. The client of etcd needs HTTP, which few
 * processes do, and formats are for programs without a cluster: these are files of their own.
 */

export * from './backup.js';
export * from './coordinator.js';
export * from './index.js';
export * from './salvage.js';
