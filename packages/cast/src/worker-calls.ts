import { type MessagePort, parentPort, type TransferListItem, Worker } from 'node:worker_threads';
import { PendingCalls, SerialQueue, settledWithin } from '@rdmc/common';
import { CastError, codeOf, messageOf } from './errors.js';

/**
 * A call from the application's thread to a worker that does blocking work. Calls are executed one after the other, in
 * the order in which they were made.
 */
interface Call {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The functions of a worker; each has one argument. */
// biome-ignore lint/suspicious/noExplicitAny: an argument's type is known only to the function
export type Calls = { [name: string]: (argument: any) => unknown };

/** How long `end` waits for a worker in a system call. A worker that hangs on a dead disk is abandoned. */
const TERMINATE_TIMEOUT_MS = 2_000;

/** The application's end. */
export class CallingThread<C extends Calls> {
  readonly #worker: Worker;
  readonly #pending = new PendingCalls();

  constructor(module: URL, workerData?: unknown) {
    this.#worker = new Worker(module, { workerData });
    this.#worker.on('message', (answer: Answer) => this.#settle(answer));
    this.#worker.on('error', (error) => this.#pending.end(error));
    this.#worker.on('exit', () => {
      this.#pending.end(new CastError('ERR_RDMC_ABORTED', 'the thread that does this work has ended'));
    });
  }

  /** @throws CastError with the code of the error that the function threw */
  call<N extends keyof C & string>(
    name: N,
    argument: Parameters<C[N]>[0],
    transfer: readonly TransferListItem[] = [],
  ): Promise<Awaited<ReturnType<C[N]>>> {
    const answered = this.#pending.start(undefined, (id) => {
      this.#worker.postMessage({ id, name, argument } satisfies Call, [...transfer]);
    });
    return answered as Promise<Awaited<ReturnType<C[N]>>>;
  }

  /** Sets whether the thread keeps the process alive. */
  ref(wanted: boolean): void {
    if (wanted) this.#worker.ref();
    else this.#worker.unref();
  }

  /** Ends the thread; pending calls reject. */
  async end(): Promise<void> {
    this.#worker.unref();
    await settledWithin(this.#worker.terminate(), TERMINATE_TIMEOUT_MS);
  }

  #settle({ id, result, error }: Answer): void {
    if (error === undefined) this.#pending.resolve(id, result);
    else this.#pending.reject(id, new CastError(error.code, error.message));
  }
}

/**
 * The worker's end: executes one call after the other; a call that returns a promise ends when the promise is settled.
 *
 * @param ahead functions that run as soon as a call of that name arrives, while other calls may be in progress
 */
export function answerCalls(
  calls: Calls,
  port: Pick<MessagePort, 'on' | 'postMessage'> = parentPort!,
  ahead: { readonly [name: string]: () => void } = {},
): void {
  const queue = new SerialQueue();
  const answer = async ({ id, name, argument }: Call): Promise<Answer> => {
    try {
      return { id, result: await calls[name]!(argument) };
    } catch (error) {
      return { id, error: { code: codeOf(error) ?? 'ERR_RDMC_WORKER', message: messageOf(error) } };
    }
  };
  port.on('message', (call: Call) => {
    ahead[call.name]?.();
    void queue.run(async () => port.postMessage(await answer(call)));
  });
}
