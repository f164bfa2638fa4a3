import { setTimeout as delay } from 'node:timers/promises';
import type { Action } from '../checker/history.js';
import type { KvProcess } from './kv-server.js';
import { running } from './kv-status.js';

const KEYS = 40;
const VALUE_BYTES = 256 * 1024;
const ANSWER_MS = 30_000;
const RETRY_MS = 50;

/** Large values beside those of the clients, so that segments are closed. Each key always has the same value. */
export class Ballast {
  readonly #keys = Array.from({ length: KEYS }, (_, index) => `ballast-${index}`);

  constructor(private readonly server: () => KvProcess) {}

  /** Resolves when every value is acknowledged once more. */
  async write(): Promise<void> {
    for (const key of this.#keys) await this.#ask(key, { kind: 'set', value: textOf(key) });
  }

  /** @throws where an acknowledged value is lost */
  async require(): Promise<void> {
    for (const key of this.#keys) {
      const value = await this.#ask(key, { kind: 'get' });
      if (value !== textOf(key))
        throw new Error(`the value of ${key} is lost: ${String(value).slice(0, 40)}`);
    }
  }

  async #ask(key: string, action: Action): Promise<unknown> {
    for (;;) {
      const outcome = await running(this.server()).ask({ do: 'apply', key, action }, ANSWER_MS);
      if (outcome.kind === 'answered') return outcome.result;
      await delay(RETRY_MS);
    }
  }
}

function textOf(key: string): string {
  return `${key} `.padEnd(VALUE_BYTES, '.');
}
