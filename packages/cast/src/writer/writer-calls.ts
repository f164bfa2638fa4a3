import { closeSync, constants, openSync } from 'node:fs';
import { CastError, type CastErrorCode, codeOf, givenUp } from '../errors.js';
import { WorkerRegions } from '../worker-regions.js';
import { DurableWriter } from './durable-writer.js';
import { removeLeftovers } from './leftovers.js';
import type { OpenOrder, StoreOrder } from './orders.js';
import { type StoredReport, type StoredSoFar, StreamWriter } from './stream-writer.js';
import type { SyncPort } from './sync-port.js';
import { asCastError } from './system-errors.js';
import { WriterSigns } from './writer-signs.js';

/**
 * What a writer's thread can be called for, and what it does ahead of the calls before: when `close` arrives, directories
 * get their modes at once, although a call before it may wait for a slow disk.
 */
export function writerCalls(signs: Int32Array, sync: SyncPort) {
  let writer: StreamWriter | DurableWriter | undefined;
  let regions: WorkerRegions | undefined;
  const active = (): void => void Atomics.add(signs, WriterSigns.ACTIVITY, 1);
  const isGivenUp = (): boolean => Atomics.load(signs, WriterSigns.GIVEN_UP) !== 0;
  const ports = { active, isGivenUp };
  const requireWanted = (): void => {
    if (isGivenUp()) throw givenUp();
  };

  const calls = {
    open({ directory, castId, checksum, fsync }: OpenOrder): { readonly freeBytes: number } {
      writer = fsync
        ? new DurableWriter(directory, castId, checksum, sync, ports)
        : new StreamWriter(directory, castId, checksum, ports);
      return { freeBytes: writer.freeBytes };
    },

    attach({ device }: { readonly device: number }): void {
      regions = new WorkerRegions(device);
    },

    /** Returns what has its name so far. */
    async store({ region, byteLength, sequence }: StoreOrder): Promise<StoredSoFar> {
      requireWanted();
      await writer!.store(sequence, regions!.buffer(region, byteLength));
      return writer!.stored;
    },

    async finish({ messages }: { readonly messages: number }): Promise<StoredReport> {
      requireWanted();
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
  return { calls, ahead: { close: () => writer?.giveUp() } };
}

export type WriterCalls = ReturnType<typeof writerCalls>['calls'];

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
