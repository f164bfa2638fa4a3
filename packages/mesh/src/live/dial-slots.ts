/**
 * Attempts to connect that run at once. Where all of hundreds of members in one process connect at once, each handshake takes
 * as long as all of them together, and those that take longer than their limit begin again.
 */
export class DialSlots {
  readonly #waiting = new Set<() => void>();

  constructor(private free: number) {}

  /** False: all are in use; `again` is called when one is free. */
  take(again: () => void): boolean {
    if (this.free === 0) {
      this.#waiting.add(again);
      return false;
    }
    this.free -= 1;
    return true;
  }

  /** Gives one back. The callers that have waited longest are called, until none is free. */
  release(): void {
    this.free += 1;
    for (const again of this.#waiting) {
      if (this.free === 0) return;
      this.#waiting.delete(again);
      again();
    }
  }

  /** The caller does not wait any more. */
  forget(again: () => void): void {
    this.#waiting.delete(again);
  }
}
