/** Runs actions of one key one after the other, in the order of the calls. */
export class Turns {
  readonly #tails = new Map<string, Promise<unknown>>();

  run<T>(key: string, action: () => Promise<T> | T): Promise<T> {
    const done = (this.#tails.get(key) ?? Promise.resolve()).then(action);
    const tail = done.then(
      () => {},
      () => {},
    );
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    return done;
  }
}
