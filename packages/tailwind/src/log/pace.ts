import { setImmediate as turn } from 'node:timers/promises';

/** How long work beside appends may keep the event loop, in milliseconds. */
const STRETCH_MS = 1;
const LOOK_EVERY = 64;

/** Lets other work run from time to time. */
export class Pace {
  #count = 0;
  #since = performance.now();

  constructor(private readonly ended: AbortSignal) {}

  /** Whether it is time for `yield`; costs little when asked often. */
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
