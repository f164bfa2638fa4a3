import { closeSync, constants, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { CastError, type CastErrorCode, codeOf } from './errors.js';
import { answerCalls } from './worker-calls.js';
import { WorkerRegions } from './worker-regions.js';
import { DurableWriter } from './writer/durable-writer.js';
import { removeLeftovers } from './writer/leftovers.js';
import type { OpenOrder, StoreOrder } from './writer/orders.js';
import { type StoredReport, type StoredSoFar, StreamWriter } from './writer/stream-writer.js';
import { systemSync } from './writer/sync-port.js';
import { asCastError } from './writer/system-errors.js';

/** The thread that checks, hashes and stores what a receiver gets. `workerData.activity` counts what it has done. */

const activity = (workerData as { readonly activity: Int32Array }).activity;
let writer: StreamWriter | DurableWriter | undefined;
let regions: WorkerRegions | undefined;

const calls = {
  open({ directory, castId, checksum, fsync }: OpenOrder): { readonly freeBytes: number } {
    const active = (): void => void Atomics.add(activity, 0, 1);
    writer = fsync
      ? new DurableWriter(directory, castId, checksum, active, systemSync)
      : new StreamWriter(directory, castId, checksum, active);
    return { freeBytes: writer.freeBytes };
  },

  attach({ device }: { readonly device: number }): void {
    regions = new WorkerRegions(device);
  },

  /** Returns what has its name so far. */
  async store({ region, lengthBytes, sequence }: StoreOrder): Promise<StoredSoFar> {
    await writer!.store(sequence, regions!.buffer(region, lengthBytes));
    return writer!.stored;
  },

  async finish({ messages }: { readonly messages: number }): Promise<StoredReport> {
    return writer!.finish(messages);
  },

  async close(_: undefined): Promise<void> {
    await writer?.close();
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
