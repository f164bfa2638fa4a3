/**
 * The embedded state store: one file, written anew for every change. Two lines of text:
 *
 * ```
 * {"format":1,"sha256":"…"}                                     of the second line, without its end
 * {"revision":17,"entries":{"log/3":{"value":"…","revision":17}}}
 * ```
 */
import { createHash } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { messageOf, TailwindError } from '../errors.js';
import { makeDirectory, syncDirectory } from './file-store-directory.js';
import { FileStoreLock } from './file-store-lock.js';
import type { StateStore, StoredValue } from './state-store.js';

const FORMAT = 1;
const header = z.object({ format: z.number().int(), sha256: z.string() });
const content = z.object({
  revision: z.number().int().min(0),
  entries: z.record(z.string(), z.object({ value: z.string(), revision: z.number().int().min(1) })),
});

/** A coordinator's state in a file of this machine. One store at a time has it open. */
export class FileStore implements StateStore, AsyncDisposable {
  #tail: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(
    private readonly path: string,
    private readonly lock: FileStoreLock,
    private revision: number,
    private readonly entries: Map<string, StoredValue>,
  ) {}

  /**
   * Reads the file; where there is none, the state is empty. A damaged one is left as it is: an older state would
   * bring dead logs back to life, so a copy from elsewhere is for a person to choose.
   * @throws TailwindError ERR_RDMC_STATE_LOCKED: another store has it open; ERR_RDMC_STATE_FOREIGN_VERSION,
   *   ERR_RDMC_STATE_DAMAGED; errors of the file system
   */
  static async open(path: string): Promise<FileStore> {
    await makeDirectory(dirname(path));
    const lock = await FileStoreLock.take(path);
    try {
      const { revision, entries } = await read(path);
      return new FileStore(path, lock, revision, new Map(Object.entries(entries)));
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  async get(key: string): Promise<StoredValue | undefined> {
    this.#assertOpen();
    return this.entries.get(key);
  }

  async list(prefix: string): Promise<Map<string, StoredValue>> {
    this.#assertOpen();
    return new Map([...this.entries].filter(([key]) => key.startsWith(prefix)));
  }

  async put(key: string, value: string, revision: number): Promise<number> {
    this.#assertOpen();
    const done = this.#tail.then(() => this.#put(key, value, revision));
    this.#tail = done.catch(() => {});
    return done;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#tail;
    await this.lock.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #assertOpen(): void {
    if (this.#closed) throw new TailwindError('ERR_RDMC_STATE_CLOSED', 'This store is closed');
  }

  async #put(key: string, value: string, revision: number): Promise<number> {
    const found = this.entries.get(key)?.revision ?? 0;
    if (found !== revision) {
      throw new TailwindError(
        'ERR_RDMC_STATE_CONFLICT',
        `'${key}' has revision ${found}, not ${revision}: somebody else changed it`,
      );
    }
    const next = this.revision + 1;
    const changed = new Map(this.entries).set(key, { value, revision: next });
    await writeDurably(this.path, encode(next, changed));
    this.revision = next;
    this.entries.set(key, { value, revision: next });
    return next;
  }
}

async function read(path: string): Promise<z.output<typeof content>> {
  try {
    return decode(path, await readFile(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { revision: 0, entries: {} };
    throw error;
  }
}

function encode(revision: number, entries: ReadonlyMap<string, StoredValue>): string {
  const body = JSON.stringify({ revision, entries: Object.fromEntries(entries) });
  return `${JSON.stringify({ format: FORMAT, sha256: sha256(body) })}\n${body}\n`;
}

function decode(path: string, text: string): z.output<typeof content> {
  const [first = '', body = '', end, ...more] = text.split('\n');
  try {
    const { format, sha256: expected } = header.parse(JSON.parse(first));
    if (format !== FORMAT) {
      throw new TailwindError(
        'ERR_RDMC_STATE_FOREIGN_VERSION',
        `${path} has format ${format}; this program reads format ${FORMAT}`,
      );
    }
    if (sha256(body) !== expected) throw new Error('its checksum does not match');
    if (end !== '' || more.length > 0) throw new Error('it does not end where it should');
    return content.parse(JSON.parse(body));
  } catch (error) {
    if (error instanceof TailwindError) throw error;
    throw new TailwindError('ERR_RDMC_STATE_DAMAGED', `${path} is damaged: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A rename is durable once the directory is on the disk, and the file is complete whenever it has its name. */
async function writeDurably(path: string, text: string): Promise<void> {
  const unfinished = `${path}.tmp`;
  try {
    const file = await open(unfinished, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {});
    throw error;
  }
  await syncDirectory(dirname(path));
}
