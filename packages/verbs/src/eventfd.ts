import { native } from './native.js';

/** Calls back on this thread's event loop whenever a descriptor is readable; eventfds are drained first. */
export class FdWatcher {
  readonly #handle: number;
  #closed = false;

  constructor(fd: number, listener: () => void);
  /** @internal */
  constructor(watch: () => number);
  constructor(fd: number | (() => number), listener?: () => void) {
    this.#handle = typeof fd === 'number' ? native().fdWatch(fd, listener!) : fd();
  }

  /** Watches a completion channel, whose events are taken as its device wants it. @internal */
  static ofChannel(device: number, channel: number, listener: () => void): FdWatcher {
    return new FdWatcher(() => native().channelWatch(device, channel, listener));
  }

  /** Whether this watcher keeps the event loop alive (true at first). */
  ref(keepsLoopAlive: boolean): void {
    if (!this.#closed) native().fdRef(this.#handle, keepsLoopAlive);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    native().fdUnwatch(this.#handle);
  }
}

/** An eventfd: one thread signals, another one's event loop wakes. The number is valid in all threads. */
export class EventFd {
  readonly fd: number;
  #closed = false;

  constructor() {
    this.fd = native().eventfdCreate();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    native().fdClose(this.fd);
  }
}

/** A function that wakes whoever watches `fd`; a system call each (about 0.3 µs). */
export function eventfdSignaller(fd: number): () => void {
  return native().eventfdSignal(fd);
}

/** Gives the processor to another runnable thread; returns the nanoseconds until it came back. */
export function yieldProcessor(): number {
  return native().yieldProcessor();
}

/** CPU time the calling thread has used, in seconds. */
export function threadCpuSeconds(): number {
  return native().threadCpuSeconds();
}
