import type { Subscription } from '@rdmc/common';
import { native } from './native.js';

/** Calls back on this thread's event loop whenever a descriptor is readable; eventfds are drained first. */
export class FdWatcher implements Subscription {
  readonly #handle: number;
  #closed = false;

  private constructor(handle: number) {
    this.#handle = handle;
  }

  /** Begins to watch a descriptor, on the event loop of the calling thread. */
  static open(fd: number, listener: () => void): FdWatcher {
    return new FdWatcher(native().fdWatch(fd, listener));
  }

  /** Watches a completion channel, whose events are read as its device requires. @internal */
  static ofChannel(device: number, channel: number, listener: () => void): FdWatcher {
    return new FdWatcher(native().channelWatch(device, channel, listener));
  }

  /** The watcher keeps the event loop alive, as it does at first. */
  ref(): void {
    if (!this.#closed) native().fdRef(this.#handle, true);
  }

  /** The watcher does not keep the event loop alive. */
  unref(): void {
    if (!this.#closed) native().fdRef(this.#handle, false);
  }

  /** Ends the calls; the descriptor stays open. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    native().fdUnwatch(this.#handle);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * An eventfd: one thread signals, another one's event loop wakes. The number is valid in all threads. It belongs to the thread that
 * opened it, and is closed when that ends, at the latest.
 */
export class EventFd implements Disposable {
  #closed = false;

  private constructor(
    /** The descriptor; valid in all threads of the process until `close`, or the end of the thread that opened it. */
    readonly fd: number,
  ) {}

  /** Creates one. */
  static open(): EventFd {
    return new EventFd(native().eventfdCreate());
  }

  /** Closes the descriptor. Close its watchers before. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    native().fdClose(this.fd);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** A function that wakes the watcher of `fd`; each call is a system call (about 0.3 µs). */
export function eventfdSignaller(fd: number): () => void {
  return native().eventfdSignal(fd);
}

/** Yields the processor to another runnable thread; returns the nanoseconds until this thread ran again. */
export function yieldProcessor(): number {
  return native().yieldProcessor();
}

/** CPU time of the calling thread, in seconds. */
export function threadCpuSeconds(): number {
  return native().threadCpuSeconds();
}
