import { DataPlaneError } from './errors.js';
import { type CheckedOptions, checkWorkerSettings, type WorkerSettings } from './options.js';
import { WorkerThread } from './worker-thread.js';

/**
 * A worker that is started ahead of its device: it loads the protocols and waits. `DataPlane.open({ prepared, device })`
 * continues with it, which takes less time than a new worker. It is used once. While it waits, it uses no processor time
 * and does not keep the process alive.
 */
export class PreparedWorker implements AsyncDisposable {
  #isWaiting = true;

  private constructor(
    private readonly thread: WorkerThread,
    private readonly checked: CheckedOptions,
  ) {
    thread.unref();
    void thread.exited.then(() => {
      this.#isWaiting = false;
    });
  }

  /** @throws DataPlaneError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
  static start(options: WorkerSettings): PreparedWorker {
    const checked = checkWorkerSettings(options);
    return new PreparedWorker(new WorkerThread(checked), checked);
  }

  /** Whether it can be used: no data plane has it, it is not closed, and its protocols could be loaded so far. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /**
   * The data plane that opens it has it from now on, and ends it.
   * @throws DataPlaneError ERR_RDMC_INVALID_OPTION where it does not wait any more
   * @internal
   */
  take(): { readonly thread: WorkerThread; readonly checked: CheckedOptions } {
    if (!this.#isWaiting) {
      throw new DataPlaneError(
        'ERR_RDMC_INVALID_OPTION',
        'DataPlane.open: the prepared worker is in use, or has ended; start another one',
      );
    }
    this.#isWaiting = false;
    this.thread.ref();
    const { thread, checked } = this;
    return { thread, checked };
  }

  /** Ends the worker, unless a data plane has it. Idempotent. */
  async close(): Promise<void> {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    await this.thread.terminate();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
