import { isolate } from './mailbox.js';

/**
 * Facts that become true once per member and stay true. A listener hears every one of them,
 * whether it came before or after the fact: with several members nobody controls that order.
 */
export class News<Fact> {
  readonly facts = new Map<number, Fact>();
  readonly #listeners = new Set<(fact: Fact) => void>();

  publish(member: number, fact: Fact): void {
    this.facts.set(member, fact);
    for (const listener of [...this.#listeners]) isolate(() => listener(fact));
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
