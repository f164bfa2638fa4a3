import { KEPT_OVERHEAD_BYTES, MAX_KEPT_BYTES_PER_PEER, MAX_KEPT_MESSAGES } from './constants.js';
import { isolate } from './isolate.js';

interface Kept<Item> {
  readonly from: number;
  readonly item: Item;
  readonly bytes: number;
}

/**
 * Gives items to the subscribers of their topic, in the order of arrival. Members start in any order, so items of a topic
 * without a subscriber wait for the first one, within bounds. A waiting item needs more memory than its bytes (it may be the
 * only one of its topic), so each one counts for some bytes more.
 */
export class TopicSubscriptions<Item> {
  readonly #listeners = new Map<string, Set<(from: number, item: Item) => void>>();
  readonly #kept = new Map<string, (Kept<Item> | undefined)[]>();
  readonly #keptBytes = new Map<number, number>();

  subscribe(topic: string, listener: (from: number, item: Item) => void): () => void {
    let listeners = this.#listeners.get(topic);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(topic, listeners);
    }
    const mine = listeners;
    mine.add(listener);
    if (this.#kept.has(topic)) queueMicrotask(() => this.#drain(topic));
    return () => {
      mine.delete(listener);
      if (mine.size === 0 && this.#listeners.get(topic) === mine) this.#listeners.delete(topic);
    };
  }

  has(topic: string): boolean {
    return this.#listeners.has(topic);
  }

  /** Whether an item could be delivered or kept. */
  hasRoom(topic: string, from: number, bytes: number): boolean {
    const kept = this.#kept.get(topic);
    if (kept === undefined && this.#listeners.has(topic)) return true;
    const keptBytes = this.#keptBytes.get(from) ?? 0;
    if (keptBytes + bytes + KEPT_OVERHEAD_BYTES > MAX_KEPT_BYTES_PER_PEER) return false;
    if (kept === undefined || kept.length < MAX_KEPT_MESSAGES) return true;
    return kept.reduce((count, entry) => count + (entry?.from === from ? 1 : 0), 0) < MAX_KEPT_MESSAGES;
  }

  /** False where the bound of what is kept is reached; the item is then not taken. */
  deliver(topic: string, from: number, item: Item, bytes: number): boolean {
    if (!this.hasRoom(topic, from, bytes)) return false;
    const kept = this.#kept.get(topic);
    if (kept === undefined && this.#hand(topic, from, item)) return true;
    // While something of this topic is kept, what comes later waits behind it.
    if (kept === undefined) this.#kept.set(topic, [{ from, item, bytes }]);
    else kept.push({ from, item, bytes });
    this.#keptBytes.set(from, (this.#keptBytes.get(from) ?? 0) + bytes + KEPT_OVERHEAD_BYTES);
    return true;
  }

  /** Drops what is kept of one member. */
  drop(member: number): void {
    for (const [topic, kept] of this.#kept) {
      // A gap instead of a shorter list: a drain of the topic counts places.
      for (const [index, entry] of kept.entries()) if (entry?.from === member) kept[index] = undefined;
      if (kept.every((entry) => entry === undefined)) this.#kept.delete(topic);
    }
    this.#keptBytes.delete(member);
  }

  clear(): void {
    this.#listeners.clear();
    this.#kept.clear();
    this.#keptBytes.clear();
  }

  #drain(topic: string): void {
    const kept = this.#kept.get(topic);
    let done = 0;
    while (kept !== undefined && done < kept.length) {
      const next = kept[done];
      if (next !== undefined) {
        if (!this.#hand(topic, next.from, next.item)) break;
        // A listener may have ended the connection with the member, and so dropped what was kept of it.
        if (kept[done] === next) this.#uncount(next);
      }
      done += 1;
    }
    if (kept === undefined || this.#kept.get(topic) !== kept) return;
    if (done === kept.length) this.#kept.delete(topic);
    else kept.splice(0, done);
  }

  #uncount({ from, bytes }: Kept<Item>): void {
    this.#keptBytes.set(from, this.#keptBytes.get(from)! - bytes - KEPT_OVERHEAD_BYTES);
  }

  #hand(topic: string, from: number, item: Item): boolean {
    const listeners = this.#listeners.get(topic);
    if (listeners === undefined || listeners.size === 0) return false;
    for (const listener of [...listeners]) isolate(() => listener(from, item));
    return true;
  }
}
