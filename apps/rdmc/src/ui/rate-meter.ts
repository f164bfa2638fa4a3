const WINDOW_SECONDS = 5;

interface Sample {
  readonly seconds: number;
  readonly value: number;
}

/** How fast a number grows, over the last few seconds. */
export class RateMeter {
  readonly #samples: Sample[] = [];

  /** @param seconds time of a monotonic clock */
  add(value: number, seconds: number): void {
    this.#samples.push({ value, seconds });
    // One sample from before the window is kept, so that the rate covers the whole window.
    while (this.#samples.length > 2 && this.#samples[1]!.seconds <= seconds - WINDOW_SECONDS)
      this.#samples.shift();
  }

  /** Growth per second; `undefined` until there are two samples. */
  get rate(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || last.seconds <= first.seconds) return undefined;
    return Math.max(0, (last.value - first.value) / (last.seconds - first.seconds));
  }
}
