import { type ChildProcess, fork } from 'node:child_process';
import { Deferred, settledWithin } from '@rdmc/common';
import { TrainingError, WorkerError } from './errors.js';
import type { Place } from './settings.js';

/** A process that was let go and stays is killed after so long. */
const STOP_MS = 5000;

/** A worker's process, seen from the trainer's. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #failed = new Deferred<never>();
  /** Resolves with how it ended. */
  readonly exited: Promise<string>;

  constructor(place: Place) {
    const name = `worker ${place.id}`;
    this.#child = fork(new URL('./worker-main.js', import.meta.url), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#failed.promise.catch(() => {}); // whoever wants it listens
    this.#child.on('message', ({ code, message }: { code: string; message: string }) => {
      this.#failed.reject(new WorkerError(code, `${name}: ${message}`));
    });
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `code ${code}`));
      // It did not start, or it went while something was on its way to it: `exit` may never come in the first case.
      this.#child.on('error', ({ message }) => {
        if (this.#child.pid === undefined) resolve(message);
      });
    });
    this.#child.send(place);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Rejects when it says that it failed. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** Rejects when it ends, for times at which none may. */
  async died(id: number): Promise<never> {
    const how = await this.exited;
    throw new TrainingError(
      'ERR_RDMC_TRAINING_MEMBER_DIED',
      `worker ${id} ended with ${how} before the first step`,
    );
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Lets it go, or ends it. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    if (!(await settledWithin(this.exited, STOP_MS))) this.kill();
    await this.exited;
  }
}
