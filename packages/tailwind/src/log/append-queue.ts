import { Fifo } from '@rdmc/common';
import { EntryType } from '../format/layout.js';
import { keyOfPayload, keyText } from '../format/payloads.js';
import type { PendingAppend } from './pending-append.js';

/** Appends that wait for a segment, in order. */
export class AppendQueue {
  readonly #appends = new Fifo<PendingAppend>();
  #heldBytes = 0;
  #keys: Set<string> | undefined;

  get length(): number {
    return this.#appends.length;
  }

  /** Estimated memory of the appends that wait. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  peek(): PendingAppend | undefined {
    return this.#appends.peek();
  }

  push(append: PendingAppend): void {
    this.#appends.push(append);
    this.#heldBytes += append.heldBytes;
    if (this.#keys) note(this.#keys, append);
  }

  shift(): PendingAppend | undefined {
    const append = this.#appends.shift();
    if (append) this.#heldBytes -= append.heldBytes;
    return append;
  }

  failAll(error: Error): void {
    for (let append = this.shift(); append; append = this.shift()) append.fail(error);
  }

  /** Runs `action` with the keys of the waiting appends, including those that arrive meanwhile. One call at a time. */
  async withKeys<T>(action: (keys: ReadonlySet<string>) => Promise<T>): Promise<T> {
    const keys = new Set<string>();
    for (const append of this.#appends) note(keys, append);
    this.#keys = keys;
    try {
      return await action(keys);
    } finally {
      this.#keys = undefined;
    }
  }
}

function note(keys: Set<string>, { content }: PendingAppend): void {
  for (const { type, payload } of content.entries()) {
    keys.add(keyText(keyOfPayload(type === EntryType.TOMBSTONE, payload)));
  }
}
