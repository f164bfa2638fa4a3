import { Buffer } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from '../client/connection.js';
import { rangesOfSlots } from '../cluster/placement-state.js';
import { KvError } from '../errors.js';
import { RESTORE_BATCH_BYTES, SLOTS, SNAPSHOT_RETRY_MS, SNAPSHOT_WAIT_MS } from '../limits.js';
import { encodeCommand } from '../resp/encode.js';
import { NO_EXPIRY } from '../store/entry.js';
import { decodeRecord } from '../store/record.js';
import { type ClusterAccess, placedBy } from './cluster-access.js';
import { Coverage } from './coverage.js';
import { recordsOf } from './sections.js';
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

/** Commands for one server that were not sent. */
interface Batch {
  commands: Buffer[];
  bytes: number;
  /** The batch before. */
  sent: Promise<void>;
}

class RestoreWork {
  keys = 0;
  expired = 0;
  readonly #connections = new Map<number, Connection>();
  readonly #batches = new Map<number, Batch>();

  private constructor(private readonly owners: Int32Array) {}

  static async begin(access: ClusterAccess): Promise<RestoreWork> {
    const { owners, addresses } = placedBy(await access.status());
    const work = new RestoreWork(owners);
    for (const [server, endpoint] of addresses) {
      if (!owners.includes(server)) continue;
      work.#connections.set(server, await access.connect(endpoint));
      work.#batches.set(server, { commands: [], bytes: 0, sent: Promise.resolve() });
    }
    if (work.#connections.size === 0)
      throw new KvError('ERR_RDMC_KV_SLOT_UNAVAILABLE', 'no server has slots: see kv admin status');
    return work;
  }

  /** @throws KvError ERR_RDMC_KV_NOT_EMPTY */
  async requireEmpty(): Promise<void> {
    const [connection] = this.#connections.values();
    const keys = await connection!.command('DBSIZE');
    if (keys === 0) return;
    throw new KvError('ERR_RDMC_KV_NOT_EMPTY', `the cluster has ${String(keys)} keys: FLUSHALL removes them`);
  }

  /** Records of a slot: a hash has its fields behind it. */
  async write(slot: number, records: Buffer): Promise<void> {
    const commands = commandsOf(records, Date.now());
    this.keys += commands.keys;
    this.expired += commands.expired;
    // A slot without a server at present: any server waits for it.
    const server = this.#batches.has(this.owners[slot]!) ? this.owners[slot]! : [...this.#batches.keys()][0]!;
    for (const command of commands.all) {
      const batch = this.#batches.get(server)!;
      batch.commands.push(command);
      batch.bytes += command.length;
      if (batch.bytes >= RESTORE_BATCH_BYTES) await this.#send(server);
    }
  }

  /** Resolves when everything was acknowledged. */
  async end(): Promise<void> {
    for (const server of this.#batches.keys()) await this.#send(server);
    for (const { sent } of this.#batches.values()) await sent;
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }

  /** One batch of each server is under way while the next one is made. */
  async #send(server: number): Promise<void> {
    const { commands, sent } = this.#batches.get(server)!;
    await sent;
    const next = sendSurely(this.#connections.get(server)!, commands);
    // Its error is thrown by the next call.
    next.catch(() => {});
    this.#batches.set(server, { commands: [], bytes: 0, sent: next });
  }
}

interface Commands {
  readonly all: Buffer[];
  readonly keys: number;
  readonly expired: number;
}

/** The commands that make the keys of records. */
function commandsOf(records: Buffer, nowMs: number): Commands {
  const all: Buffer[] = [];
  let [keys, expired] = [0, 0];
  let isLive = true;
  let fields: string[] = [];
  let hash: { readonly key: string; readonly expiresAt: number } | undefined;
  const endHash = (): void => {
    if (hash !== undefined) all.push(...hashCommands(hash, fields));
    hash = undefined;
    fields = [];
  };
  for (const { type, payload } of recordsOf(records)) {
    const record = decodeRecord(type, payload);
    if (record === undefined) continue;
    const { key, field, value, expiresAt } = record;
    if (field !== undefined) {
      if (isLive && typeof value === 'string') fields.push(field, value);
      continue;
    }
    endHash();
    isLive = expiresAt === NO_EXPIRY || expiresAt > nowMs;
    keys += Number(isLive);
    expired += Number(!isLive);
    if (!isLive) continue;
    if (typeof value === 'number') hash = { key, expiresAt };
    else if (value !== undefined) all.push(encodeCommand(['SET', key, value, ...until(expiresAt)]));
  }
  endHash();
  return { all, keys, expired };
}

function until(expiresAt: number): string[] {
  return expiresAt === NO_EXPIRY ? [] : ['PXAT', String(expiresAt)];
}

/** A hash in commands that a server takes. */
function hashCommands(
  { key, expiresAt }: { readonly key: string; readonly expiresAt: number },
  fields: string[],
): Buffer[] {
  const all: Buffer[] = [];
  let words: string[] = [];
  let bytes = 0;
  for (let at = 0; at < fields.length; at += 2) {
    words.push(fields[at]!, fields[at + 1]!);
    bytes += fields[at]!.length + fields[at + 1]!.length;
    if (bytes < RESTORE_BATCH_BYTES && at + 2 < fields.length) continue;
    all.push(encodeCommand(['HSET', key, ...words]));
    words = [];
    bytes = 0;
  }
  if (expiresAt !== NO_EXPIRY) all.push(encodeCommand(['PEXPIREAT', key, String(expiresAt)]));
  return all;
}

/** What passes: the same command, again, has the same effect. */
const PASSING = /^(CLUSTERDOWN|TRYAGAIN|UNKNOWN|NOREPLICAS) /;

/** Sends commands until each of them is acknowledged. @throws KvError ERR_RDMC_KV_RESTORE_REFUSED */
async function sendSurely(connection: Connection, commands: readonly Buffer[]): Promise<void> {
  const deadline = performance.now() + SNAPSHOT_WAIT_MS;
  for (let left = commands; left.length > 0; ) {
    const replies = await connection.batch(Buffer.concat(left), left.length);
    const refused = left.filter((_, index) => replies[index] instanceof Error);
    const reasons = replies
      .filter((reply): reply is Error => reply instanceof Error)
      .map(({ message }) => message);
    const final =
      reasons.find((message) => !PASSING.test(message)) ??
      (performance.now() > deadline ? reasons[0] : undefined);
    if (final !== undefined) {
      throw new KvError(
        'ERR_RDMC_KV_RESTORE_REFUSED',
        `a server refused a write: ${final}. A part of the keys was written: FLUSHALL, and restore again`,
      );
    }
    left = refused;
    if (left.length > 0) await delay(SNAPSHOT_RETRY_MS);
  }
}
