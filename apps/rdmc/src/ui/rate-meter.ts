const WINDOW_SECONDS = 5;

interface Sample {
  readonly seconds: number;
  readonly value: number;
}

/** How fast a number grows, over the last few seconds. */
export class RateMeter {
  readonly #samples: Sample[] = [];

  /** @param seconds a clock that never goes back */
  add(value: number, seconds: number): void {
    this.#samples.push({ value, seconds });
    // One sample from before the window stays, so that the window is always full.
    while (this.#samples.length > 2 && this.#samples[1]!.seconds <= seconds - WINDOW_SECONDS)
      this.#samples.shift();
  }

  /** Per second; `undefined` until two moments are known. */
  get rate(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || last.seconds <= first.seconds) return undefined;
    return Math.max(0, (last.value - first.value) / (last.seconds - first.seconds));
  }
}
