/**
 * The embedded state store: one file, written anew for every change. Two lines of text:
 *
 * ```
 * {"format":1,"sha256":"…"}                                     of the second line, without its end
 * {"revision":17,"entries":{"log/3":{"value":"…","revision":17}}}
 * ```
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { messageOf, TailwindError } from '../errors.js';
import type { StateStore, StoredValue } from './state-store.js';

const FORMAT = 1;
const header = z.object({ format: z.number().int(), sha256: z.string() });
const content = z.object({
  revision: z.number().int().min(0),
  entries: z.record(z.string(), z.object({ value: z.string(), revision: z.number().int().min(1) })),
});

/** One process at a time may have a file open; this is not checked. */
export class FileStore implements StateStore {
  #tail: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly path: string,
    private revision: number,
    private readonly entries: Map<string, StoredValue>,
  ) {}

  /**
   * Reads the file; where there is none, the state is empty.
   * @throws TailwindError ERR_RDMC_STATE_FOREIGN_VERSION, ERR_RDMC_STATE_DAMAGED; errors of the file system
   */
  static async open(path: string): Promise<FileStore> {
    await mkdir(dirname(path), { recursive: true });
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return new FileStore(path, 0, new Map());
    const { revision, entries } = decode(path, text);
    return new FileStore(path, revision, new Map(Object.entries(entries)));
  }

  async get(key: string): Promise<StoredValue | undefined> {
    return this.entries.get(key);
  }

  async list(prefix: string): Promise<Map<string, StoredValue>> {
    return new Map([...this.entries].filter(([key]) => key.startsWith(prefix)));
  }

  put(key: string, value: string, revision: number): Promise<number> {
    const done = this.#tail.then(() => this.#put(key, value, revision));
    this.#tail = done.catch(() => {});
    return done;
  }

  async close(): Promise<void> {
    await this.#tail;
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

function encode(revision: number, entries: ReadonlyMap<string, StoredValue>): string {
  const body = JSON.stringify({ revision, entries: Object.fromEntries(entries) });
  return `${JSON.stringify({ format: FORMAT, sha256: sha256(body) })}\n${body}\n`;
}

function decode(path: string, text: string): z.output<typeof content> {
  const [first = '', body = ''] = text.split('\n');
  try {
    const { format, sha256: expected } = header.parse(JSON.parse(first));
    if (format !== FORMAT) {
      throw new TailwindError(
        'ERR_RDMC_STATE_FOREIGN_VERSION',
        `${path} has format ${format}; this program reads format ${FORMAT}`,
      );
    }
    if (sha256(body) !== expected) throw new Error('its checksum does not match');
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
  const file = await open(unfinished, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
