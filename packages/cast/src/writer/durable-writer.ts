import { closeSync } from 'node:fs';
import type { Checksum } from '../checksum.js';
import { DIRECTORIES_SYNCED_AT_ONCE, REPLACED_AHEAD_BYTES } from '../constants.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import { commitAtOnce } from './commits.js';
import type { SurplusReport } from './comparison.js';
import type { StoredReport, StoredSoFar } from './stored-report.js';
import { StreamWriter } from './stream-writer.js';
import type { SyncPort } from './sync-port.js';
import { SyncQueue } from './sync-queue.js';
import type { WriterPorts } from './writer-ports.js';

interface DurablePorts extends Omit<WriterPorts, 'commits'> {
  /** The file system has no disk: files get their names at once. Another one may be mounted in it, so directories are synced. */
  readonly inMemory?: boolean;
}

/**
 * A `StreamWriter` that syncs: after `finish`, everything is on disk. A file gets its name when its bytes, mode and
 * times are on disk; directories are synced once, at the end.
 */
export class DurableWriter {
  readonly #queue: SyncQueue;
  readonly #writer: StreamWriter;
  private readonly active: () => void;

  /** @throws as `StreamWriter` */
  constructor(
    directory: string,
    castId: string,
    checksum: Checksum,
    private readonly port: SyncPort,
    { inMemory = false, ...ports }: DurablePorts = {},
  ) {
    this.active = ports.active ?? (() => {});
    this.#queue = new SyncQueue(port, this.active);
    this.#writer = new StreamWriter(directory, castId, checksum, {
      ...ports,
      commits: inMemory ? commitAtOnce : this.#queue,
      durable: true,
    });
  }

  get freeBytes(): number {
    return this.#writer.freeBytes;
  }

  get stored(): StoredSoFar {
    return this.#writer.stored;
  }

  /** As a `StreamWriter`'s. */
  examine(first: number, count: number, data: string): Uint8Array {
    return this.#writer.examine(first, count, data);
  }

  surplus(): SurplusReport {
    return this.#writer.surplus();
  }

  get roomBytes(): number {
    return this.#writer.roomBytes;
  }

  compareBlocks(index: number, first: number, data: string): string {
    return this.#writer.compareBlocks(index, first, data);
  }

  get resumedBytes(): number {
    return this.#writer.resumedBytes;
  }

  get unbuilt(): number[] {
    return this.#writer.unbuilt;
  }

  /** Stores the next message; then its memory is free. Some of its files may not have their names yet. */
  async store(sequence: number, message: Buffer): Promise<void> {
    for (const _ of this.#writer.steps(sequence, message)) {
      if (this.#queue.isFull) await this.#queue.room();
      const mustWait = this.#writer.isTight && this.#queue.waitingBytes >= REPLACED_AHEAD_BYTES;
      if (mustWait) await this.#queue.drained();
    }
  }

  /** @throws CastError where a directory could not be synced, or where nothing more can be stored */
  async finish(messages: number, remove = false): Promise<StoredReport> {
    await this.#queue.drained();
    // A new directory gets its name when all in it is on disk.
    await this.#syncAll(this.#writer.stagedSteps(messages, remove));
    await this.#syncAll(this.#writer.lastSteps());
    return this.#writer.report();
  }

  /** Syncs directories, some at a time. */
  async #syncAll(directories: Iterable<number>): Promise<void> {
    const syncing: Promise<void>[] = [];
    try {
      for (const descriptor of directories) {
        syncing.push(this.#syncDirectory(descriptor));
        if (syncing.length >= DIRECTORIES_SYNCED_AT_ONCE) await Promise.all(syncing.splice(0));
      }
    } finally {
      await Promise.allSettled(syncing);
    }
    await Promise.all(syncing);
  }

  /** As a `StreamWriter`'s. Does not wait for the disk; ends the waits of `store` and `finish`. */
  giveUp(): void {
    this.#queue.giveUp();
    this.#writer.giveUp();
  }

  async close(): Promise<void> {
    this.giveUp();
    await this.#queue.abandon();
    try {
      await this.#writer.settle(this.port.file);
    } catch {
      // What was synced before stays; a later cast sends the rest.
    }
    this.#writer.close();
  }

  async #syncDirectory(descriptor: number): Promise<void> {
    try {
      await this.port.directory(descriptor);
    } catch (cause) {
      const errno = codeOf(cause) ?? messageOf(cause);
      const isFull = errno === 'ENOSPC' || errno === 'EDQUOT';
      const message = `a directory could not be synced to disk (${errno}); check the disk, and cast again`;
      throw new CastError(isFull ? 'ERR_RDMC_NO_SPACE' : 'ERR_RDMC_WRITE_FAILED', message, { cause });
    } finally {
      closeSync(descriptor);
      this.active();
    }
  }
}
