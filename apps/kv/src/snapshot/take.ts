import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeDurableDirectories } from '@rdmc/common';
import type { Connection } from '../client/connection.js';
import { rangesOfSlots } from '../cluster/placement-state.js';
import { ADMIN_COMMAND } from '../commands/admin.js';
import { KvError, messageOf } from '../errors.js';
import { SLOTS, SNAPSHOT_RETRY_MS, SNAPSHOT_WAIT_MS } from '../limits.js';
import { decodeKey } from '../store/record.js';
import type { Endpoint } from '../values.js';
import { type ClusterAccess, isLost, placedBy } from './cluster-access.js';
import { Coverage } from './coverage.js';
import { decodePage, type Place, recordsOf, sectionsIn } from './sections.js';
import {
  fileNameOf,
  incomplete,
  type Manifest,
  SNAPSHOT_FORMAT,
  SnapshotFileWriter,
  writeManifest,
} from './snapshot-file.js';

export interface SnapshotResult {
  readonly directory: string;
  readonly snapshot: string;
  readonly keys: number;
  readonly bytes: number;
  readonly files: number;
  readonly milliseconds: number;
}

/** How far it is: slots of SLOTS, and bytes. */
export type SnapshotProgress = (done: { readonly slots: number; readonly bytes: number }) => void;

interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * Copies all slots of a cluster into a directory, from all servers at once, while clients use it. Each key is copied as it is at one
 * moment. Slots that change their server meanwhile are copied again.
 * @throws KvError ERR_RDMC_KV_SNAPSHOT_EXISTS: the directory is not empty; ERR_RDMC_KV_SNAPSHOT_INCOMPLETE: slots have no server;
 *   ERR_RDMC_ENTRY_TOO_LARGE: a hash does not fit into a snapshot; errors of the file system
 */
export async function takeSnapshot(
  access: ClusterAccess,
  directory: string,
  progress: SnapshotProgress = () => {},
): Promise<SnapshotResult> {
  const begun = performance.now();
  await makeDurableDirectories(directory);
  if ((await readdir(directory)).length > 0) throw notEmpty(directory);
  const work = new SnapshotWork(access, directory, progress);
  const manifest = await work.run();
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  const { snapshot, keys, files } = manifest;
  return {
    directory,
    snapshot,
    keys,
    bytes,
    files: files.length,
    milliseconds: Math.round(performance.now() - begun),
  };
}

class SnapshotWork {
  readonly #snapshot = randomBytes(16).toString('hex');
  /** By slot, the number of keys of each section. */
  readonly #coverage = new Coverage<number>();
  readonly #writers = new Map<number, SnapshotFileWriter>();
  #bytes = 0;

  constructor(
    private readonly access: ClusterAccess,
    private readonly directory: string,
    private readonly progress: SnapshotProgress,
  ) {}

  async run(): Promise<Manifest> {
    try {
      await this.#copyAll();
      const files: Manifest['files'][number][] = [];
      for (const writer of this.#writers.values()) files.push(await writer.finish());
      let keys = 0;
      for (let slot = 0; slot < SLOTS; slot += 1)
        for (const count of this.#coverage.parts(slot)) keys += count;
      const createdAt = new Date().toISOString();
      const manifest = { format: SNAPSHOT_FORMAT, snapshot: this.#snapshot, createdAt, keys, files };
      await writeManifest(this.directory, manifest);
      return manifest;
    } catch (error) {
      await this.#remove();
      throw error;
    }
  }

  /** In rounds: what a server did not have any more, another one has. */
  async #copyAll(): Promise<void> {
    let deadline = performance.now() + SNAPSHOT_WAIT_MS;
    for (let missing = this.#coverage.missing; missing.length > 0; ) {
      await this.#copyFromAll(missing);
      const left = this.#coverage.missing;
      if (left.length < missing.length) deadline = performance.now() + SNAPSHOT_WAIT_MS;
      else if (performance.now() > deadline) throw withoutServer(left);
      missing = left;
      if (missing.length > 0) await delay(SNAPSHOT_RETRY_MS);
    }
  }

  /**
   * Each slot from the server that has it. Ends when all servers have ended: a server that is asked in two rounds at once would give
   * two mixed copies of a slot, and pages that come late would be written into files that are finished, or removed.
   */
  async #copyFromAll(missing: readonly number[]): Promise<void> {
    const { owners, addresses } = placedBy(await this.access.status());
    const failed = new AbortController();
    const copy = async (server: number, endpoint: Endpoint): Promise<void> => {
      const slots = missing.filter((slot) => owners[slot] === server);
      if (slots.length === 0) return;
      await this.#copy(server, await this.access.connect(endpoint), rangesOfSlots(slots), failed.signal);
    };
    await Promise.all(
      [...addresses].map(([server, endpoint]) =>
        copy(server, endpoint).catch((error: unknown) => {
          if (!isPassing(error)) failed.abort(finalOf(error));
        }),
      ),
    );
    failed.signal.throwIfAborted();
  }

  async #copy(
    server: number,
    connection: Connection,
    ranges: readonly [number, number][],
    failed: AbortSignal,
  ): Promise<void> {
    try {
      for (const [from, to] of ranges) await this.#copyRange(server, connection, { from, to }, failed);
    } finally {
      connection.close();
    }
  }

  async #copyRange(
    server: number,
    connection: Connection,
    { from, to }: Range,
    failed: AbortSignal,
  ): Promise<void> {
    for (let place: Place = { slot: from, after: 0 }; place.slot <= to; ) {
      failed.throwIfAborted();
      const words = [place.slot, place.after, to].map(String);
      const reply = await connection.command(ADMIN_COMMAND, 'SNAPSHOT', ...words);
      const { next, sections } = decodePage(Buffer.from(String(reply), 'latin1'));
      await this.#store(server, sections);
      place = next;
    }
  }

  async #store(server: number, sections: Buffer): Promise<void> {
    let writer = this.#writers.get(server);
    if (writer === undefined) {
      writer = await SnapshotFileWriter.create(this.directory, server, this.#snapshot);
      this.#writers.set(server, writer);
    }
    await writer.add(sections);
    for (const section of sectionsIn(sections)) {
      this.#coverage.add(server, section, keysIn(section.records));
    }
    this.#bytes += sections.length;
    this.progress({ slots: SLOTS - this.#coverage.missing.length, bytes: this.#bytes });
  }

  /** So that the directory can be given again. */
  async #remove(): Promise<void> {
    for (const [server, writer] of this.#writers) {
      await writer.abandon();
      const path = join(this.directory, fileNameOf(server));
      for (const each of [path, `${path}.tmp`]) await rm(each, { force: true });
    }
  }
}

function keysIn(records: Buffer): number {
  let keys = 0;
  for (const { type, payload } of recordsOf(records))
    if (decodeKey(type, payload)?.field === undefined) keys += 1;
  return keys;
}

/** A hash that does not fit into a page: no round can copy it. */
const TOO_LARGE = /^[A-Z]+ ERR_RDMC_ENTRY_TOO_LARGE /;

/** What the next round may not meet again. */
function isPassing(error: unknown): boolean {
  const isRefusal = error instanceof Error && /^[A-Z]+ ERR_RDMC_/.test(error.message);
  return (isRefusal && !TOO_LARGE.test(error.message)) || isLost(error);
}

function finalOf(error: unknown): unknown {
  const message = messageOf(error);
  if (!TOO_LARGE.test(message)) return error;
  return new KvError('ERR_RDMC_ENTRY_TOO_LARGE', `${message.replace(TOO_LARGE, '')}. No snapshot was made`);
}

function notEmpty(directory: string): KvError {
  return new KvError('ERR_RDMC_KV_SNAPSHOT_EXISTS', `${directory} is not empty: give another directory`);
}

function withoutServer(slots: readonly number[]): KvError {
  const ranges = rangesOfSlots(slots).map(([from, to]) => (from === to ? String(from) : `${from} to ${to}`));
  const named = `${ranges.slice(0, 5).join(', ')}${ranges.length > 5 ? ', …' : ''}`;
  return incomplete(`no server gave the slots ${named}: see kv admin status. No snapshot was made`);
}
