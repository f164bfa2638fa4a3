import { isolate } from './isolate.js';

/**
 * Facts that become true once per member and stay true. A listener is called for each of them,
 * also for earlier ones, because with several members the order of subscription and fact is not fixed.
 */
export class MemberFacts<Fact> {
  readonly facts = new Map<number, Fact>();
  readonly #listeners = new Set<(fact: Fact) => void>();

  /** All facts hold before the first listener hears of one. */
  publish(news: readonly (readonly [member: number, fact: Fact])[]): void {
    for (const [member, fact] of news) this.facts.set(member, fact);
    const listeners = [...this.#listeners];
    for (const [, fact] of news) {
      for (const listener of listeners) if (this.#listeners.has(listener)) isolate(() => listener(fact));
    }
  }

  subscribe(listener: (fact: Fact) => void): () => void {
    // Wrapped, so that one function subscribed twice is two subscriptions.
    const mine = (fact: Fact) => listener(fact);
    const known = [...this.facts.values()];
    this.#listeners.add(mine);
    queueMicrotask(() => {
      for (const fact of known) if (this.#listeners.has(mine)) isolate(() => mine(fact));
    });
    return () => {
      this.#listeners.delete(mine);
    };
  }

  clearListeners(): void {
    this.#listeners.clear();
  }
}
