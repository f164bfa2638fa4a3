import { MAX_WAITING_BYTES } from '../limits.js';
import { SLOT_UNAVAILABLE } from '../resp/command-error.js';
import { errorReply, type Request } from './request.js';

/** Requests for slots without a server. They wait in order, for a bounded time and in bounded memory. */
export class WaitingRequests {
  #requests: Request[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly waitMs: number) {}

  add(request: Request): void {
    if (this.#bytes + request.bytes.length > MAX_WAITING_BYTES) {
      request.done(errorReply(SLOT_UNAVAILABLE));
      return;
    }
    this.#bytes += request.bytes.length;
    request.deadline ??= performance.now() + this.waitMs;
    this.#requests.push(request);
    this.#schedule();
  }

  /** Removes and returns, in order, the requests whose slots have a server. */
  release(isServed: (slot: number) => boolean): Request[] {
    const released = this.#requests.filter(({ slot }) => isServed(slot));
    this.#requests = this.#requests.filter(({ slot }) => !isServed(slot));
    this.#recount();
    return released;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#expire(Number.POSITIVE_INFINITY);
  }

  #schedule(): void {
    const [first] = this.#requests;
    if (this.#timer || !first) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#expire(performance.now());
        this.#schedule();
      },
      Math.max(1, first.deadline! - performance.now()),
    );
    this.#timer.unref();
  }

  #expire(now: number): void {
    const over = this.#requests.filter(({ deadline }) => deadline! <= now);
    this.#requests = this.#requests.filter(({ deadline }) => deadline! > now);
    this.#recount();
    for (const request of over) request.done(errorReply(SLOT_UNAVAILABLE));
  }

  #recount(): void {
    this.#bytes = this.#requests.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }
}
