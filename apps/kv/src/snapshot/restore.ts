import type { Buffer } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { rangesOfSlots } from '../cluster/placement-state.js';
import { KvError } from '../errors.js';
import { RESTORE_BATCH_BYTES, SLOTS } from '../limits.js';
import type { ClusterAccess } from './cluster-access.js';
import { Coverage } from './coverage.js';
import { RestoreCommands } from './restore-commands.js';
import { SlotServers, type SlotWrite } from './slot-servers.js';
import {
  checkedSections,
  incomplete,
  type Manifest,
  openFile,
  readAt,
  readManifest,
} from './snapshot-file.js';

export interface RestoreResult {
  readonly directory: string;
  readonly snapshot: string;
  readonly keys: number;
  /** Keys whose time was over. */
  readonly expired: number;
  readonly milliseconds: number;
}

/** How far it is: slots of SLOTS, and keys. */
export type RestoreProgress = (done: { readonly slots: number; readonly keys: number }) => void;

/** Records in a file. */
interface Part {
  readonly file: number;
  readonly position: number;
  readonly length: number;
}

/**
 * Writes all keys of a snapshot into a cluster of any size, whose clients see them as they are written. The snapshot is read and
 * compared with its checksums before the first write. Each write is acknowledged as any other.
 * @throws KvError ERR_RDMC_KV_SNAPSHOT_INCOMPLETE, ERR_RDMC_KV_SNAPSHOT_DAMAGED, ERR_RDMC_KV_SNAPSHOT_FOREIGN;
 *   ERR_RDMC_KV_NOT_EMPTY: the cluster has keys; ERR_RDMC_KV_RESTORE_REFUSED: a server refused a write
 */
export async function restoreSnapshot(
  access: ClusterAccess,
  directory: string,
  progress: RestoreProgress = () => {},
): Promise<RestoreResult> {
  const begun = performance.now();
  const manifest = await readManifest(directory);
  const coverage = await readCoverage(directory, manifest);
  const work = await RestoreWork.begin(access);
  const files = await Promise.all(manifest.files.map(({ name }) => openFile(join(directory, name))));
  try {
    await work.requireEmpty();
    for (let slot = 0; slot < SLOTS; slot += 1) {
      for (const { file, position, length } of coverage.parts(slot)) {
        if (length === 0) continue;
        const path = join(directory, manifest.files[file]!.name);
        await work.write(slot, await readAt(files[file]!, path, length, position));
      }
      progress({ slots: slot + 1, keys: work.keys });
    }
    await work.end();
  } finally {
    work.close();
    await Promise.all(files.map((file: FileHandle) => file.close()));
  }
  const { keys, expired } = work;
  return {
    directory,
    snapshot: manifest.snapshot,
    keys,
    expired,
    milliseconds: Math.round(performance.now() - begun),
  };
}

/** @throws KvError ERR_RDMC_KV_SNAPSHOT_INCOMPLETE, ERR_RDMC_KV_SNAPSHOT_DAMAGED, ERR_RDMC_KV_SNAPSHOT_FOREIGN */
async function readCoverage(directory: string, { files, snapshot }: Manifest): Promise<Coverage<Part>> {
  const coverage = new Coverage<Part>();
  for (const [file, listed] of files.entries()) {
    for await (const { position, length, ...section } of checkedSections(directory, listed, snapshot)) {
      coverage.add(file, section, { file, position, length });
    }
  }
  const { missing } = coverage;
  if (missing.length === 0) return coverage;
  const ranges = rangesOfSlots(missing).slice(0, 5);
  throw incomplete(
    `${directory} does not have ${missing.length} slots: ${ranges.map(([from, to]) => `${from} to ${to}`).join(', ')}`,
  );
}

class RestoreWork {
  readonly #commands = new RestoreCommands();
  /** By the server that had their slots at the beginning; -1: none. */
  readonly #lanes = new Map<number, Lane>();

  private constructor(private readonly servers: SlotServers) {}

  static async begin(access: ClusterAccess): Promise<RestoreWork> {
    return new RestoreWork(await SlotServers.connect(access));
  }

  get keys(): number {
    return this.#commands.keys;
  }

  get expired(): number {
    return this.#commands.expired;
  }

  /** @throws KvError ERR_RDMC_KV_NOT_EMPTY */
  async requireEmpty(): Promise<void> {
    const keys = await this.servers.command('DBSIZE');
    if (keys === 0) return;
    throw new KvError('ERR_RDMC_KV_NOT_EMPTY', `the cluster has ${String(keys)} keys: FLUSHALL removes them`);
  }

  /** Records of a slot: a hash has its fields behind it. */
  async write(slot: number, records: Buffer): Promise<void> {
    const lane = this.#laneOf(slot);
    for (const bytes of this.#commands.of(records, Date.now())) await lane.add({ slot, bytes });
  }

  /** Resolves when everything was acknowledged. */
  async end(): Promise<void> {
    for (const lane of this.#lanes.values()) await lane.send();
    for (const lane of this.#lanes.values()) await lane.sent;
  }

  close(): void {
    this.servers.close();
  }

  #laneOf(slot: number): Lane {
    const server = this.servers.firstOf(slot);
    let lane = this.#lanes.get(server);
    if (lane === undefined) {
      lane = new Lane((writes) => this.servers.send(writes));
      this.#lanes.set(server, lane);
    }
    return lane;
  }
}

/** Writes in order. One batch is under way while the next one is made. */
class Lane {
  /** The batch before. */
  sent: Promise<void> = Promise.resolve();
  #writes: SlotWrite[] = [];
  #bytes = 0;

  constructor(private readonly sendAll: (writes: readonly SlotWrite[]) => Promise<void>) {}

  async add(write: SlotWrite): Promise<void> {
    this.#writes.push(write);
    this.#bytes += write.bytes.length;
    if (this.#bytes >= RESTORE_BATCH_BYTES) await this.send();
  }

  async send(): Promise<void> {
    await this.sent;
    this.sent = this.sendAll(this.#writes);
    // Its error is thrown by the next call.
    this.sent.catch(() => {});
    this.#writes = [];
    this.#bytes = 0;
  }
}
