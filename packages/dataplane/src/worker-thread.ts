import { Worker, type WorkerOptions } from 'node:worker_threads';
import { codeOf, onAbort } from '@rdmc/common';
import type { OpenDeviceOptions } from '@rdmc/verbs';
import { EventFd } from '@rdmc/verbs/loop';
import { WORKER_YOUNG_MIB } from './constants.js';
import { createControl } from './control.js';
import { AbortError, DataPlaneError, describe } from './errors.js';
import type { CheckedOptions } from './options.js';
import { giveRing, takeRing } from './ring-memory.js';
import { THREAD_NAME } from './thread-name.js';
import type { TraceSource } from './trace/trace-file.js';
import type { ReadyMessage, WorkerInput } from './worker-input.js';

/** How a worker ended. */
export interface WorkerExit {
  readonly code: number;
  /** The uncaught error, if that was the reason. */
  readonly error: unknown;
}

/** Describes an exit in messages. */
export function describeExit(exit: WorkerExit): string {
  return exit.error === undefined ? `it exited with code ${exit.code}` : describe(exit.error);
}

function notCloneable(error: unknown): DataPlaneError {
  const message = `DataPlane.open: the options cannot be cloned to a worker thread: ${describe(error)}`;
  return new DataPlaneError('ERR_RDMC_INVALID_OPTION', message, { cause: error });
}

/**
 * Node's arguments without `--input-type` and `--eval`, which are for the application's program, not for the worker.
 */
function execArguments(): string[] {
  return process.execArgv.filter((argument) => !/^--(input-type|eval|print|check|test)\b/.test(argument));
}

/**
 * The thread of worker.js. Node.js refuses a list of arguments with an option of V8, such as `--max-old-space-size`, which
 * applies to all threads of the process; without a list, a thread inherits the arguments.
 */
function startThread(options: WorkerOptions): Worker {
  const module = new URL('./worker.js', import.meta.url);
  try {
    return new Worker(module, { ...options, execArgv: execArguments() });
  } catch (error) {
    if (codeOf(error) !== 'ERR_WORKER_INVALID_EXEC_ARGV') throw error;
    return new Worker(module, options);
  }
}

/** The worker thread, its shared memory and its eventfds. These are freed when it has exited. */
export class WorkerThread {
  readonly control = createControl();
  readonly commandRing: SharedArrayBuffer;
  readonly eventRing: SharedArrayBuffer;
  /** The application watches it. */
  readonly applicationEventFd = EventFd.open();
  readonly workerEventFd = EventFd.open();
  readonly exited: Promise<WorkerExit>;
  readonly #worker: Worker;
  readonly #trace: TraceSource | undefined;

  constructor(options: CheckedOptions) {
    this.#trace = options.trace?.file.source(options.trace.member);
    this.commandRing = takeRing(options.commandRingBytes);
    this.eventRing = takeRing(options.eventRingBytes);
    try {
      this.#worker = this.#launch(options);
    } catch (error) {
      this.#trace?.close();
      this.#closeEventFds();
      throw notCloneable(error);
    }
    this.exited = this.#watchExit();
  }

  /** Lets the worker open the device. @throws DataPlaneError ERR_RDMC_INVALID_OPTION */
  open(device: OpenDeviceOptions): void {
    try {
      this.#worker.postMessage(device);
    } catch (error) {
      throw notCloneable(error);
    }
  }

  /** Waits until all protocols have started. @throws DataPlaneError ERR_RDMC_DATAPLANE_START_FAILED; AbortError */
  async ready(signal: AbortSignal | undefined): Promise<ReadyMessage> {
    const message = new Promise<ReadyMessage>((resolve) => this.#worker.once('message', resolve));
    const forget = onAbort(signal, () => void this.#worker.terminate());
    const first = await Promise.race([message, this.exited]);
    forget();
    if (signal?.aborted) {
      await this.terminate();
      throw new AbortError('Starting a data plane', signal);
    }
    if (!('code' in first)) return first;
    throw new DataPlaneError(
      'ERR_RDMC_DATAPLANE_START_FAILED',
      `The data plane's worker did not start: ${describeExit(first)}`,
      { cause: first.error },
    );
  }

  /** From now on the worker does not keep the process alive. */
  unref(): void {
    this.#worker.unref();
  }

  ref(): void {
    this.#worker.ref();
  }

  /** Ends the thread at any point of its code. */
  terminate(): Promise<WorkerExit> {
    void this.#worker.terminate();
    return this.exited;
  }

  #launch(options: CheckedOptions): Worker {
    const workerData: WorkerInput = {
      control: this.control,
      commandRing: this.commandRing,
      eventRing: this.eventRing,
      workerEventFd: this.workerEventFd.fd,
      applicationEventFd: this.applicationEventFd.fd,
      windowMs: options.windowMs,
      completionQueueDepth: options.completionQueueDepth,
      protocols: options.protocols,
      trace: this.#trace && { memory: this.#trace.memory, member: options.trace!.member },
    };
    const resourceLimits = { maxYoungGenerationSizeMb: WORKER_YOUNG_MIB };
    return startThread({ name: THREAD_NAME, workerData, resourceLimits });
  }

  #watchExit(): Promise<WorkerExit> {
    let error: unknown;
    this.#worker.on('error', (thrown) => {
      error = thrown;
    });
    return new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#trace?.close();
        resolve({ code, error });
        // After the listeners of the exit have stopped watching the eventfds, and read what the worker has left in its ring.
        setImmediate(() => this.#release());
      });
    });
  }

  #release(): void {
    this.#closeEventFds();
    giveRing(this.commandRing);
    giveRing(this.eventRing);
  }

  #closeEventFds(): void {
    this.workerEventFd.close();
    this.applicationEventFd.close();
  }
}
