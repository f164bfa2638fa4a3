const NOT_PENDING = -1;

/** An event at a simulated time. A timer is pending at most once. */
export abstract class Timer {
  at = 0;
  sequence = 0;
  /** Position in the clock's heap. */
  index = NOT_PENDING;

  abstract fire(): void;
}

/**
 * Simulated time in microseconds, and the pending timers as a binary heap ordered by (time, sequence number): timers of
 * the same time fire in the order in which they were scheduled, so a run does not depend on anything but its input.
 */
export class Clock {
  now = 0;
  /** Timers that have fired. */
  events = 0;
  readonly #heap: Timer[] = [];
  #sequence = 0;

  /** Schedules `timer` at `at`, which is not in the past. A pending timer moves there. */
  schedule(timer: Timer, at: number): void {
    timer.at = at;
    this.#sequence += 1;
    timer.sequence = this.#sequence;
    if (timer.index === NOT_PENDING) {
      this.#heap.push(timer);
      timer.index = this.#heap.length - 1;
      this.#rise(timer);
    } else {
      this.#rise(timer);
      this.#sink(timer);
    }
  }

  cancel(timer: Timer): void {
    if (timer.index !== NOT_PENDING) this.#remove(timer);
  }

  get pending(): number {
    return this.#heap.length;
  }

  /** Fires all timers in order. `settle` runs after the last timer of each instant; it may schedule timers. */
  run(settle: () => void): void {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.at > this.now) {
        settle();
        const after = this.#heap[0];
        if (after === undefined) return;
        this.now = after.at;
        continue;
      }
      this.#remove(next);
      this.events += 1;
      next.fire();
    }
  }

  #remove(timer: Timer): void {
    const { index } = timer;
    const last = this.#heap.pop()!;
    timer.index = NOT_PENDING;
    if (last === timer) return;
    this.#heap[index] = last;
    last.index = index;
    this.#rise(last);
    this.#sink(last);
  }

  #rise(timer: Timer): void {
    const heap = this.#heap;
    let { index } = timer;
    while (index > 0) {
      const parent = heap[(index - 1) >> 1]!;
      if (!isBefore(timer, parent)) break;
      heap[index] = parent;
      parent.index = index;
      index = (index - 1) >> 1;
    }
    heap[index] = timer;
    timer.index = index;
  }

  #sink(timer: Timer): void {
    const heap = this.#heap;
    const { length } = heap;
    let { index } = timer;
    for (;;) {
      let least = 2 * index + 1;
      if (least >= length) break;
      if (least + 1 < length && isBefore(heap[least + 1]!, heap[least]!)) least += 1;
      const child = heap[least]!;
      if (!isBefore(child, timer)) break;
      heap[index] = child;
      child.index = index;
      index = least;
    }
    heap[index] = timer;
    timer.index = index;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.sequence < b.sequence);
}

/** A timer that calls a function. */
export class Call extends Timer {
  constructor(private readonly action: () => void) {
    super();
  }

  fire(): void {
    this.action();
  }
}

/** Calls `action` after `delay`; at once if that is 0. */
export function after(clock: Clock, delay: number, action: () => void): void {
  if (delay === 0) action();
  else clock.schedule(new Call(action), clock.now + delay);
}
