import { type Levels, levelsText, SerialQueue, speaks } from '@rdmc/common';
import { TailwindError } from '../errors.js';
import type { LevelStore, StoredValue } from './state-store.js';

/** A store that makes changes one by one: otherwise, with etcd, a lost answer leaves open which change was made. */
export abstract class SerialStore implements LevelStore, AsyncDisposable {
  readonly #changes = new SerialQueue();
  #closed = false;

  abstract get(key: string): Promise<StoredValue | undefined>;
  abstract list(prefix: string): Promise<Map<string, StoredValue>>;

  async put(key: string, value: string, revision: number): Promise<number> {
    this.assertOpen();
    return this.#changes.run(() => this.change(key, value, revision));
  }

  abstract get level(): number;

  async raiseLevel(level: number): Promise<void> {
    this.assertOpen();
    await this.#changes.run(async () => {
      if (level > this.level) await this.changeLevel(level);
    });
  }

  /** Waits for the changes under way, then closes. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#changes.idle();
    await this.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Carries out a `put` when it is its turn. */
  protected abstract change(key: string, value: string, revision: number): Promise<number>;
  /** Carries out a `raiseLevel` when it is its turn. */
  protected abstract changeLevel(level: number): Promise<void>;
  /** Last step of closing. */
  protected abstract release(): Promise<void>;

  /** @throws TailwindError ERR_RDMC_STATE_CLOSED */
  protected assertOpen(): void {
    if (this.#closed) throw new TailwindError('ERR_RDMC_STATE_CLOSED', 'This store is closed');
  }

  /** The error of a change whose key has another revision than expected. */
  protected conflict(key: string, found: number, revision: number): TailwindError {
    return new TailwindError(
      'ERR_RDMC_STATE_CONFLICT',
      `'${key}' has revision ${found}, not ${revision}: another process changed it`,
    );
  }
}

/** @throws TailwindError ERR_RDMC_STATE_FOREIGN_VERSION: a process with these levels must not use the state. It is not changed */
export function requireLevel(what: string, level: number, levels: Levels): void {
  if (speaks(levels, level)) return;
  throw new TailwindError(
    'ERR_RDMC_STATE_FOREIGN_VERSION',
    `${what} has format ${level}, the level of its cluster; this program reads those of ${levelsText(levels)}`,
  );
}
