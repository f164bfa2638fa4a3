/**
 * The embedded state store: one file, written anew for every change. Two lines of text:
 *
 * ```
 * {"format":1,"sha256":"…"}                                     of the second line, without its end
 * {"revision":17,"entries":{"log/3":{"value":"…","revision":17}}}
 * ```
 *
 * `format` is the level of the cluster.
 */
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { type Levels, makeDurableDirectories, ownLevels } from '@rdmc/common';
import { dictionary, openRecord, readShape, type Shaped, text, whole } from '@rdmc/common/shapes';
import { messageOf, TailwindError } from '../errors.js';
import { DurableFile } from './durable-file.js';
import { FileStoreLock } from './file-store-lock.js';
import { requireLevel, SerialStore } from './serial-store.js';
import type { StoredValue } from './state-store.js';

const header = openRecord({ format: whole(), sha256: text() });
const content = openRecord({
  revision: whole(0),
  entries: dictionary(openRecord({ value: text(), revision: whole(1) })),
});

/** A coordinator's state in a file of this machine. One store at a time has it open. */
export class FileStore extends SerialStore {
  private constructor(
    private readonly file: DurableFile,
    private readonly lock: FileStoreLock,
    private currentLevel: number,
    private revision: number,
    private readonly entries: Map<string, StoredValue>,
  ) {
    super();
  }

  /**
   * Reads the file; without a file, the state is empty. A damaged file is not changed: an older state would bring dead
   * logs back to life, so a person must choose which copy to restore.
   * @param levels that this process speaks
   * @throws TailwindError ERR_RDMC_STATE_LOCKED: another store has it open; ERR_RDMC_STATE_FOREIGN_VERSION: the state has
   *   another level; ERR_RDMC_STATE_DAMAGED; errors of the file system
   */
  static async open(path: string, levels = ownLevels()): Promise<FileStore> {
    await makeDurableDirectories(dirname(path));
    const lock = await FileStoreLock.take(path);
    try {
      const file = await DurableFile.open(path);
      try {
        const { level, revision, entries } = await read(file, levels);
        return new FileStore(file, lock, level, revision, new Map(Object.entries(entries)));
      } catch (error) {
        await file.close();
        throw error;
      }
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** The level of the cluster; of a new state, the highest of this process. */
  get level(): number {
    return this.currentLevel;
  }

  /** The value of a key, and its revision; undefined if it was never put. */
  async get(key: string): Promise<StoredValue | undefined> {
    this.assertOpen();
    return this.entries.get(key);
  }

  async list(prefix: string): Promise<Map<string, StoredValue>> {
    this.assertOpen();
    return new Map([...this.entries].filter(([key]) => key.startsWith(prefix)));
  }

  protected async release(): Promise<void> {
    try {
      await this.lock.release();
    } finally {
      await this.file.close();
    }
  }

  protected async change(key: string, value: string, revision: number): Promise<number> {
    const found = this.entries.get(key)?.revision ?? 0;
    if (found !== revision) throw this.conflict(key, found, revision);
    const next = this.revision + 1;
    const changed = new Map(this.entries).set(key, { value, revision: next });
    await this.file.write(encode(this.level, next, changed));
    this.revision = next;
    this.entries.set(key, { value, revision: next });
    return next;
  }

  protected async changeLevel(level: number): Promise<void> {
    await this.file.write(encode(level, this.revision, this.entries));
    this.currentLevel = level;
  }
}

type State = Shaped<typeof content> & { readonly level: number };

async function read(file: DurableFile, levels: Levels): Promise<State> {
  const text = await file.read();
  return text === undefined
    ? { level: levels.most, revision: 0, entries: {} }
    : decode(file.path, text, levels);
}

function encode(level: number, revision: number, entries: ReadonlyMap<string, StoredValue>): string {
  const body = JSON.stringify({ revision, entries: Object.fromEntries(entries) });
  return `${JSON.stringify({ format: level, sha256: sha256(body) })}\n${body}\n`;
}

function decode(path: string, text: string, levels: Levels): State {
  const [first = '', body = '', end, ...more] = text.split('\n');
  try {
    const { format: level, sha256: expected } = readShape(header, JSON.parse(first));
    requireLevel(path, level, levels);
    if (sha256(body) !== expected) throw new Error('its checksum does not match');
    if (end !== '' || more.length > 0) throw new Error('it does not end where it should');
    return { level, ...readShape(content, JSON.parse(body)) };
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
