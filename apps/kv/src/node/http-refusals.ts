const HTTP_EVENT_MS = 60_000;

/** Reports clients that were disconnected because they sent HTTP: at most once in a minute. */
export class HttpRefusals {
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly tell: (address: string) => void) {}

  refused(address: string): void {
    const now = performance.now();
    if (now - this.#toldAt < HTTP_EVENT_MS) return;
    this.#toldAt = now;
    this.tell(address);
  }
}
