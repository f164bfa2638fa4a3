/** Runs jobs one after the other, in the order of the calls. A job that fails does not hold up the next one. */
export class SerialQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #length = 0;

  /** Jobs that have not ended, the running one included. */
  get length(): number {
    return this.#length;
  }

  /** Settles as the job does. It never begins within the call; its rejection is the caller's to handle. */
  run<T>(job: () => T | PromiseLike<T>): Promise<T> {
    this.#length += 1;
    const done = this.#tail.then(job);
    const ended = (): void => {
      this.#length -= 1;
    };
    this.#tail = done.then(ended, ended);
    return done;
  }

  /** Resolves when all jobs so far have ended, also those that failed. Never rejects. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
