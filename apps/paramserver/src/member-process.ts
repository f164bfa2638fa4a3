import { type ChildProcess, fork } from 'node:child_process';
import { type ErrorCategory, settledWithin } from '@rdmc/common';
import { ParamServerError } from './errors.js';

type Report =
  | { progress: number }
  | { done: string; result: unknown }
  | { failed: string; code: string; category: ErrorCategory; message: string };

/** A process that is told to end and does not is killed after this time. */
const STOP_MS = 5000;

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** A process of the run, in the parent: one order at a time. */
export class MemberProcess {
  readonly #child: ChildProcess;
  #pending: Pending | undefined;
  readonly exited: Promise<void>;
  /** Why it does not accept orders any longer. */
  #death: ParamServerError | undefined;

  constructor(
    private readonly name: string,
    private readonly onProgress: (blocks: number) => void,
  ) {
    this.#child = fork(new URL('./member.js', import.meta.url), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', (report) => this.#take(report as Report));
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        const how = signal ? `signal ${signal}` : `code ${String(code)}`;
        this.#died(`ended with ${how}`);
        resolve();
      });
      // It did not start, or it ended while an order was sent to it: `exit` may never be emitted in the first case.
      this.#child.on('error', ({ message }) => {
        this.#died(`cannot be reached: ${message}`);
        if (this.#child.pid === undefined) resolve();
      });
    });
  }

  order(order: string, argument?: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#death) {
        reject(this.#death);
        return;
      }
      this.#pending = { resolve, reject };
      this.#child.send({ order, argument });
    });
  }

  /** Disconnects it if it has closed everything, else kills it. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    if (!(await settledWithin(this.exited, STOP_MS))) this.#child.kill('SIGKILL');
    await this.exited;
  }

  /** It may die between two orders: the next order fails. */
  #died(how: string): void {
    this.#death ??= new ParamServerError('ERR_RDMC_PARAMSERVER_DIED', `${this.name} ${how}`);
    this.#settle()?.reject(this.#death);
  }

  #take(report: Report): void {
    if ('progress' in report) this.onProgress(report.progress);
    else if ('done' in report) this.#settle()?.resolve(report.result);
    else {
      const { code, category, message } = report;
      this.#settle()?.reject(new ParamServerError(code, `${this.name}: ${message}`, category));
    }
  }

  #settle(): Pending | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    return pending;
  }
}
