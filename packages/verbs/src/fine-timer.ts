import { FdWatcher } from './eventfd.js';
import { native } from './native.js';

/**
 * Calls back on this thread's event loop after a time that is short beside the milliseconds of `setTimeout` (a timerfd).
 * Keeps the event loop alive until it is closed, whether it runs or not.
 */
export class FineTimer implements Disposable {
  /**
   * Calls back once, so many microseconds from now (a whole number from 1 to 2^32 - 1); a call that is due from a former start
   * is given up. A system call; nothing is allocated.
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

  static open(listener: () => void): FineTimer {
    const fd = native().timerfdCreate();
    return new FineTimer(fd, FdWatcher.open(fd, listener));
  }

  /** No call comes afterwards. It must not be started again: its descriptor may be another's. */
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
