import { setImmediate as turn } from 'node:timers/promises';

/** How long work beside appends may block the event loop, in milliseconds. */
const STRETCH_MS = 1;
const LOOK_EVERY = 64;

/** Divides long work into slices, so that other work runs in between. */
export class Pace {
  #count = 0;
  #since = performance.now();

  constructor(private readonly ended: AbortSignal) {}

  /** Whether the slice is over and `yield` should be called. Cheap enough to call often. */
  get isDue(): boolean {
    this.#count += 1;
    return this.#count % LOOK_EVERY === 0 && performance.now() - this.#since > STRETCH_MS;
  }

  /** @throws the reason for which the log ended meanwhile */
  async yield(): Promise<void> {
    await turn();
    this.ended.throwIfAborted();
    this.#since = performance.now();
  }
}
