import { MAX_PARKED_BYTES } from '../limits.js';
import { SLOT_UNAVAILABLE } from '../resp/command-error.js';
import { errorReply, type Request } from './request.js';

/** Requests for slots that nobody serves. They wait in order, for a bounded time and in bounded memory. */
export class Parking {
  #parked: Request[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly waitMs: number) {}

  park(request: Request): void {
    if (this.#bytes + request.bytes.length > MAX_PARKED_BYTES) {
      request.done(errorReply(SLOT_UNAVAILABLE));
      return;
    }
    this.#bytes += request.bytes.length;
    request.deadline ??= performance.now() + this.waitMs;
    this.#parked.push(request);
    this.#schedule();
  }

  /** Takes out, in order, what may go on. */
  release(isServed: (slot: number) => boolean): Request[] {
    const released = this.#parked.filter(({ slot }) => isServed(slot));
    this.#parked = this.#parked.filter(({ slot }) => !isServed(slot));
    this.#recount();
    return released;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#expire(Number.POSITIVE_INFINITY);
  }

  #schedule(): void {
    const [first] = this.#parked;
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
    const over = this.#parked.filter(({ deadline }) => deadline! <= now);
    this.#parked = this.#parked.filter(({ deadline }) => deadline! > now);
    this.#recount();
    for (const request of over) request.done(errorReply(SLOT_UNAVAILABLE));
  }

  #recount(): void {
    this.#bytes = this.#parked.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }
}
