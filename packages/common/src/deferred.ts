/** A promise with its two ends in hand. A rejection for which nobody waits is not an uncaught one. */
export class Deferred<T> {
  /** Settles by `resolve` or `reject`. */
  readonly promise: Promise<T>;
  /** Fulfils the promise. Later calls have no effect. */
  resolve!: (value: T) => void;
  /** Rejects the promise. Later calls have no effect. */
  reject!: (error: unknown) => void;

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.promise.catch(() => {});
  }
}
