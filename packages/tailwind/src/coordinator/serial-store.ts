import { SerialQueue } from '@rdmc/common';
import { TailwindError } from '../errors.js';
import type { StateStore, StoredValue } from './state-store.js';

/** A store whose changes are made one after the other: with etcd only so is it known whose change a lost answer was about. */
export abstract class SerialStore implements StateStore, AsyncDisposable {
  readonly #changes = new SerialQueue();
  #closed = false;

  abstract get(key: string): Promise<StoredValue | undefined>;
  abstract list(prefix: string): Promise<Map<string, StoredValue>>;

  async put(key: string, value: string, revision: number): Promise<number> {
    this.assertOpen();
    return this.#changes.run(() => this.change(key, value, revision));
  }

  /** Lets the changes under way come to their end. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#changes.idle();
    await this.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What `put` does when it is its turn. */
  protected abstract change(key: string, value: string, revision: number): Promise<number>;
  /** What closing does last. */
  protected abstract release(): Promise<void>;

  /** @throws TailwindError ERR_RDMC_STATE_CLOSED */
  protected assertOpen(): void {
    if (this.#closed) throw new TailwindError('ERR_RDMC_STATE_CLOSED', 'This store is closed');
  }

  /** The key has another revision than its writer knew. */
  protected conflict(key: string, found: number, revision: number): TailwindError {
    return new TailwindError(
      'ERR_RDMC_STATE_CONFLICT',
      `'${key}' has revision ${found}, not ${revision}: somebody else changed it`,
    );
  }
}
