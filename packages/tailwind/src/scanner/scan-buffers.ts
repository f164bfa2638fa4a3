/** The next scan that waits for a buffer. */
interface Waiter {
  readonly byteLength: number;
  readonly resolve: (buffer: SharedArrayBuffer) => void;
}

/**
 * Shared memory for scanning threads, used again and again. A buffer that went to a thread is freed only when the garbage
 * collector of that thread runs too, and an idle thread does not run it: with a new buffer for each scan, a server that
 * repeats a recovery every second grew by 8 MiB each time.
 */
export class ScanBuffers {
  readonly #free: SharedArrayBuffer[] = [];
  readonly #waiting: Waiter[] = [];
  #inUse = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly most: number,
    /** Free buffers are given up after that time without a scan. */
    private readonly idleMs: number,
  ) {}

  /** A buffer with at least that many bytes; their content is undefined. Waits while all are in use. */
  take(byteLength: number): Promise<SharedArrayBuffer> {
    if (this.#inUse === this.most) {
      return new Promise((resolve) => this.#waiting.push({ byteLength, resolve }));
    }
    clearTimeout(this.#timer);
    this.#inUse += 1;
    return Promise.resolve(large(this.#free.pop(), byteLength));
  }

  give(buffer: SharedArrayBuffer): void {
    const next = this.#waiting.shift();
    if (next) {
      next.resolve(large(buffer, next.byteLength));
      return;
    }
    this.#inUse -= 1;
    this.#free.push(buffer);
    if (this.#inUse > 0) return;
    this.#timer = setTimeout(() => this.#free.splice(0), this.idleMs);
    this.#timer.unref();
  }
}

/** That buffer if it is large enough, else a new one. */
function large(buffer: SharedArrayBuffer | undefined, byteLength: number): SharedArrayBuffer {
  return buffer && buffer.byteLength >= byteLength ? buffer : new SharedArrayBuffer(byteLength);
}
