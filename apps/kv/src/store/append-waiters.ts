interface Waiter {
  readonly sequence: number;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Those that wait for the acknowledgement of an append. */
export class AppendWaiters {
  #waiting: Waiter[] = [];

  /** Resolves when the append with this number is acknowledged; rejects where it is refused, or the log ends before. */
  wait(sequence: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sequence, resolve, reject });
    });
  }

  acknowledged(sequence: number): void {
    if (this.#waiting.length === 0) return;
    for (const { resolve } of this.#take((waiter) => waiter.sequence <= sequence)) resolve();
  }

  /** The appends from this one on did not happen. */
  refused(sequence: number, error: unknown): void {
    for (const { reject } of this.#take((waiter) => waiter.sequence >= sequence)) reject(error);
  }

  #take(which: (waiter: Waiter) => boolean): Waiter[] {
    const taken = this.#waiting.filter(which);
    this.#waiting = this.#waiting.filter((waiter) => !which(waiter));
    return taken;
  }
}
