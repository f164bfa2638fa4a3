import type { Subscription } from '@rdmc/common';
import type { OpenDevice } from './contract.js';
import type { DeviceEvent } from './device-event.js';
import { FdWatcher } from './eventfd.js';
import { closeUnlessGone, native } from './native.js';

/** Calls a listener on this thread, which its `Device` object ends: otherwise its descriptor keeps the process alive. */
export interface Listening {
  /** There is no call afterwards. Idempotent. */
  endListening(): void;
}

/** Delivers a device's events to one listener, on the thread that created it. */
export class DeviceEventListener implements Subscription, Listening {
  readonly #subscription: number;
  readonly #watcher: FdWatcher;
  #closed = false;

  constructor(
    private readonly device: OpenDevice,
    listener: (event: DeviceEvent) => void,
    private readonly listening: Set<Listening>,
  ) {
    this.#subscription = native().eventsSubscribe(device.handle);
    this.#watcher = FdWatcher.open(native().eventsFd(device.handle, this.#subscription), () => {
      closeUnlessGone(() => {
        for (const event of native().eventsTake(device.handle, this.#subscription)) listener(event);
      });
    });
    // A listener does not keep the process alive.
    this.#watcher.unref();
    listening.add(this);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.listening.delete(this);
    this.#watcher.close();
    closeUnlessGone(() => native().eventsUnsubscribe(this.device.handle, this.#subscription));
  }

  /** @internal */
  endListening(): void {
    this.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
