import { MAX_WAITING_BYTES } from '../limits.js';
import { SLOT_UNAVAILABLE } from '../resp/command-error.js';
import { errorReply, type Request } from './request.js';
import type { SlotOrder } from './slot-order.js';

/**
 * Requests for slots without a server, and those behind them. They wait in the order in which they came, for a bounded time and in
 * bounded memory.
 */
export class WaitingRequests {
  #requests: Request[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly waitMs: number,
    private readonly order: SlotOrder,
  ) {}

  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  add(request: Request): void {
    if (this.#bytes + request.bytes.length > MAX_WAITING_BYTES) {
      request.done(errorReply(SLOT_UNAVAILABLE));
      return;
    }
    this.#bytes += request.bytes.length;
    request.deadline ??= performance.now() + this.waitMs;
    this.order.waits(request);
    // One that was refused comes back to its place: others that came later wait already.
    let at = this.#requests.length;
    while (at > 0 && this.#requests[at - 1]!.order! > request.order!) at -= 1;
    if (at === this.#requests.length) this.#requests.push(request);
    else this.#requests.splice(at, 0, request);
    this.#schedule();
  }

  /** Removes and returns, in order, the requests that may go, and that none of their slots waits before. */
  release(mayGo: (request: Request) => boolean): Request[] {
    const [released, kept]: [Request[], Request[]] = [[], []];
    const blocked = new Set<number>();
    for (const request of this.#requests) {
      const { slot, slots = [slot] } = request;
      if (mayGo(request) && !slots.some((each) => blocked.has(each))) released.push(request);
      else {
        kept.push(request);
        for (const each of slots) blocked.add(each);
      }
    }
    this.#keep(kept, released);
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
    this.#keep(
      this.#requests.filter(({ deadline }) => deadline! > now),
      over,
    );
    for (const request of over) request.done(errorReply(SLOT_UNAVAILABLE));
  }

  #keep(kept: Request[], left: readonly Request[]): void {
    this.#requests = kept;
    for (const request of left) {
      this.#bytes -= request.bytes.length;
      this.order.left(request);
    }
  }
}
