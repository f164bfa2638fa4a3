import { FdWatcher } from './eventfd.js';
import { native } from './native.js';

/**
 * Calls back on this thread's event loop after microseconds, for which `setTimeout` is too coarse (a timerfd).
 * Keeps the event loop alive until it is closed, whether it runs or not. Its descriptor is closed when its thread ends, at the
 * latest.
 */
export class FineTimer implements Disposable {
  /**
   * Calls back once, that many microseconds from now (an integer from 1 to 2^32 - 1); a pending call of an earlier start
   * is dropped. A system call; nothing is allocated.
   */
  readonly start: (microseconds: number) => void;
  readonly #fd: number;
  readonly #watcher: FdWatcher;
  #closed = false;

  private constructor(fd: number, watcher: FdWatcher) {
    this.#fd = fd;
    this.#watcher = watcher;
    this.start = native().timerfdStart(fd);
  }

  /** Creates a timer that calls `listener`, on the event loop of the calling thread. */
  static open(listener: () => void): FineTimer {
    const fd = native().timerfdCreate();
    return new FineTimer(fd, FdWatcher.open(fd, listener));
  }

  /** There is no call afterwards. Do not start it again: its descriptor may belong to another object. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#watcher.close();
    native().fdClose(this.#fd);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
