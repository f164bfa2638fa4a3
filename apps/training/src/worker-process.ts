import { type ChildProcess, fork } from 'node:child_process';
import { Deferred, settledWithin } from '@rdmc/common';
import { TrainingError, WorkerError } from './errors.js';
import type { Place } from './settings.js';

/** A process that was disconnected and does not end is killed after this time. */
const STOP_MS = 5000;

/** A worker's process, in the trainer's process. */
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
    this.#failed.promise.catch(() => {}); // it may be unobserved
    this.#child.on('message', ({ code, message }: { code: string; message: string }) => {
      this.#failed.reject(new WorkerError(code, `${name}: ${message}`));
    });
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `code ${code}`));
      // It did not start, or it ended while a message was sent to it: `exit` may never be emitted in the first case.
      this.#child.on('error', ({ message }) => {
        if (this.#child.pid === undefined) resolve(message);
      });
    });
    this.#child.send(place);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Rejects when it reports a failure. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** Rejects when it ends, for phases in which no worker may end. */
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

  /** Disconnects it, or kills it. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    if (!(await settledWithin(this.exited, STOP_MS))) this.kill();
    await this.exited;
  }
}
