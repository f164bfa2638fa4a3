const NOT_PENDING = -1;
const FIRST_CAPACITY = 1024;

/** An event at a simulated time. A timer is pending at most once. */
export abstract class Timer {
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
  /** The heap. Times and numbers are beside the timers: a comparison reads no timer, which would be a cache miss. */
  readonly #heap: Timer[] = [];
  #times = new Float64Array(FIRST_CAPACITY);
  #numbers = new Float64Array(FIRST_CAPACITY);
  #sequence = 0;

  /** Schedules `timer` at `at`, which is not in the past. A pending timer moves there. */
  schedule(timer: Timer, at: number): void {
    this.#sequence += 1;
    const isNew = timer.index === NOT_PENDING;
    if (isNew) {
      timer.index = this.#heap.length;
      this.#heap.push(timer);
      if (this.#heap.length > this.#times.length) this.#grow();
    }
    const place = this.#rise(timer.index, at, this.#sequence);
    this.#put(isNew ? place : this.#sink(place, at, this.#sequence), timer, at, this.#sequence);
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
      if (next === undefined || this.#times[0]! > this.now) {
        settle();
        if (this.#heap.length === 0) return;
        this.now = this.#times[0]!;
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
    const at = this.#times[this.#heap.length]!;
    const number = this.#numbers[this.#heap.length]!;
    this.#put(this.#sink(this.#rise(index, at, number), at, number), last, at, number);
  }

  #put(index: number, timer: Timer, at: number, number: number): void {
    this.#heap[index] = timer;
    this.#times[index] = at;
    this.#numbers[index] = number;
    timer.index = index;
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#heap[from]!, this.#times[from]!, this.#numbers[from]!);
  }

  /** Moves later timers above `index` down. Returns the place of a timer with this time and number. */
  #rise(index: number, at: number, number: number): number {
    let place = index;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isBefore(at, number, parent)) break;
      this.#move(parent, place);
      place = parent;
    }
    return place;
  }

  /** Moves earlier timers below `index` up. Returns the place of a timer with this time and number. */
  #sink(index: number, at: number, number: number): number {
    const { length } = this.#heap;
    let place = index;
    for (;;) {
      let least = 2 * place + 1;
      if (least >= length) return place;
      const right = least + 1;
      if (right < length && this.#isBefore(this.#times[right]!, this.#numbers[right]!, least)) least = right;
      if (this.#isBefore(at, number, least)) return place;
      this.#move(least, place);
      place = least;
    }
  }

  /** Whether a timer with this time and number fires before the one at `index`. */
  #isBefore(at: number, number: number, index: number): boolean {
    const other = this.#times[index]!;
    return at < other || (at === other && number < this.#numbers[index]!);
  }

  #grow(): void {
    const [times, numbers] = [this.#times, this.#numbers];
    this.#times = new Float64Array(2 * times.length);
    this.#times.set(times);
    this.#numbers = new Float64Array(2 * numbers.length);
    this.#numbers.set(numbers);
  }
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
