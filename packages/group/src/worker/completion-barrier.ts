import type { ProtocolContext } from '@rdmc/dataplane';
import { Layout } from '@rdmc/verbs';

interface Waiting {
  /** Turns that have to end first. */
  turns: number;
  readonly done: () => void;
}

/**
 * Waits until the worker has handled every completion that has happened. A turn takes a batch of them, so that is so after as
 * many turns as the completion queue has batches.
 */
export class CompletionBarrier {
  /** In the order of their calls. */
  readonly #waiting: Waiting[] = [];

  constructor(private readonly context: Pick<ProtocolContext, 'completionQueue' | 'wake'>) {}

  pass(): Promise<void> {
    const { completionQueue, wake } = this.context;
    const turns = Math.ceil(completionQueue.depth / Layout.POLL_SLOTS);
    return new Promise((done) => {
      this.#waiting.push({ turns, done });
      wake();
    });
  }

  /** A turn ends: its completions have been handled. */
  onTurn(): void {
    if (this.#waiting.length === 0) return;
    for (const each of this.#waiting) each.turns -= 1;
    while (this.#waiting[0]?.turns === 0) this.#waiting.shift()!.done();
    if (this.#waiting.length > 0) this.context.wake();
  }
}
