import type { Subscription } from '@rdmc/common';
import type { OpenDevice } from './contract.js';
import type { Listening } from './device-events.js';
import { FdWatcher } from './eventfd.js';
import { closeUnlessGone, native } from './native.js';

/**
 * Wakes the event loop of the thread that created it when an armed completion queue has completions.
 * Spurious wake-ups are possible: poll, and arm again.
 */
export class CompletionChannel {
  #watcher: FdWatcher | undefined;
  #closed = false;

  /** @internal */
  constructor(
    /** The device that it belongs to. */
    readonly device: OpenDevice,
    /** Identifies it in calls of the addon; valid in all threads. */
    readonly handle: number,
    private readonly listening: Set<Listening>,
  ) {
    listening.add(this);
  }

  /** The descriptor that becomes readable; for event loops other than Node's, which then call `drain`. */
  get fd(): number {
    return native().channelFd(this.device.handle, this.handle);
  }

  /** Reads the pending events, so that `fd` is not readable any longer; `onEvent` does that itself. */
  drain(): void {
    native().channelDrain(this.device.handle, this.handle);
  }

  /**
   * Calls `listener` on this thread at every event. A channel has one listener; a new one replaces it. It ends with the channel,
   * and with the `Device` object that made the channel.
   */
  onEvent(listener: () => void): Subscription {
    this.#watcher?.close();
    this.#watcher = FdWatcher.ofChannel(this.device.handle, this.handle, listener);
    return this.#watcher;
  }

  /** Waiting for events keeps the process alive, as it does by default. */
  ref(): void {
    this.#watcher?.ref();
  }

  /** Waiting for events does not keep the process alive. */
  unref(): void {
    this.#watcher?.unref();
  }

  /** @throws VerbsError ERR_RDMC_CHANNEL_BUSY while a completion queue uses it; then it stays open */
  async close(): Promise<void> {
    if (!this.#closed) {
      closeUnlessGone(() => native().channelDestroy(this.device.handle, this.handle));
      this.#closed = true;
      this.listening.delete(this);
      this.endListening();
    }
  }

  /** @internal */
  endListening(): void {
    this.#watcher?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
