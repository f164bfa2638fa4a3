import { closeSync, constants, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { CastError, type CastErrorCode, codeOf } from './errors.js';
import { answerCalls } from './worker-calls.js';
import { WorkerRegions } from './worker-regions.js';
import { removeLeftovers } from './writer/leftovers.js';
import type { OpenOrder, StoreOrder } from './writer/orders.js';
import { type StoredReport, StreamWriter } from './writer/stream-writer.js';
import { asCastError } from './writer/system-errors.js';

/** The thread that checks, hashes and stores what a receiver gets. `workerData.activity` counts what it has done. */

const activity = (workerData as { readonly activity: Int32Array }).activity;
let writer: StreamWriter | undefined;
let regions: WorkerRegions | undefined;

const calls = {
  open({ directory, castId, checksum }: OpenOrder): { readonly freeBytes: number } {
    writer = new StreamWriter(directory, castId, checksum, () => Atomics.add(activity, 0, 1));
    return { freeBytes: writer.freeBytes };
  },

  attach({ device }: { readonly device: number }): void {
    regions = new WorkerRegions(device);
  },

  /** Returns what is whole so far. */
  store({ region, lengthBytes, sequence }: StoreOrder): { readonly files: number; readonly bytes: number } {
    writer!.store(sequence, regions!.buffer(region, lengthBytes));
    return writer!.stored;
  },

  finish({ messages }: { readonly messages: number }): StoredReport {
    return writer!.finish(messages);
  },

  close(_: undefined): void {
    writer?.close();
  },

  /** Looks after the directory before the first cast. Returns what was removed. */
  prepare({ directory }: { readonly directory: string }): string[] {
    const root = openDirectory(directory);
    try {
      return removeLeftovers(root);
    } finally {
      closeSync(root);
    }
  },
};

export type WriterCalls = typeof calls;

function openDirectory(directory: string): number {
  try {
    return openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') throw unusable('ERR_RDMC_NOT_FOUND', `${directory} does not exist; make it first`);
    if (code === 'ENOTDIR') throw unusable('ERR_RDMC_NOT_A_DIRECTORY', `${directory} is no directory`);
    throw asCastError(error);
  }
}

function unusable(code: CastErrorCode, message: string): CastError {
  return new CastError(code, message);
}

answerCalls(calls);
