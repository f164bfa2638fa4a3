import { setMaxListeners } from 'node:events';
import { Lifetime, type Logger, settledWithin, Tracer } from '@rdmc/common';
import { attachDevice, attachProtectionDomain, type Device, type ProtectionDomain } from '@rdmc/verbs';
import { eventfdSignaller, FdWatcher } from '@rdmc/verbs/loop';
import { CommandQueue } from './command-queue.js';
import { DEFAULT_STOP_TIMEOUT_MS, SYSTEM_PROTOCOL, SystemKind } from './constants.js';
import { ControlWord } from './control.js';
import { type Counters, readCounters } from './counters.js';
import { DataPlaneError, throwIfAborted } from './errors.js';
import { EventInbox } from './event-inbox.js';
import { type CheckedOptions, checkOptions, checkPreparedOptions, type DataPlaneOptions } from './options.js';
import type { PreparedWorker } from './prepared-worker.js';
import { createClient, eventSink } from './protocol-client.js';
import type { RecordView } from './record-codec.js';
import type { EventHandlers, ProtocolClient, RecordTable } from './record-table.js';
import { decodeFailure, protocolError, tagOf } from './records.js';
import { RingReader, RingWriter } from './ring.js';
import { OwnTrace } from './trace/own-trace.js';
import type { TraceSink } from './trace/recorder.js';
import type { ReadyMessage } from './worker-input.js';
import { describeExit, type WorkerExit, WorkerThread } from './worker-thread.js';

const openTrace = new Tracer<{ readonly protocols: readonly string[] }>('@rdmc/dataplane:open');
const closeTrace = new Tracer<{ readonly protocols: readonly string[] }>('@rdmc/dataplane:close');

/** The options of `DataPlane.open` with a worker that was started ahead. */
export interface PreparedPlaneOptions extends Pick<DataPlaneOptions, 'device' | 'signal' | 'logger'> {
  /** The worker, which nothing else uses afterwards. */
  readonly prepared: PreparedWorker;
}

/** Called once when a protocol has ended because it threw or its data plane died, but not after a close. */
export type EndListener = (error: DataPlaneError) => void;

/**
 * The application's side of a worker thread that owns a device and its completion queue (RDMC, DSN 2018,
 * section 4.2: one completion queue and one thread for all sessions). Protocols run in the worker; the
 * application sends them commands and gets their events.
 *
 * Keeps the process alive only while commands are unanswered, while it closes, or after `ref()`.
 */
export class DataPlane {
  /** The worker's device, opened in this thread. It is closed with the data plane. */
  readonly device: Device;
  /** The worker's protection domain: the worker may use regions that this thread allocates in it. */
  readonly protectionDomain: ProtectionDomain;
  readonly #commands: CommandQueue;
  readonly #inbox: EventInbox;
  readonly #watcher: FdWatcher;
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #lifetime = new Lifetime();
  /** The `onEnd` functions of clients, by the protocol's number. */
  readonly #endListeners = new Map<number, EndListener>();
  /** Protocols that have ended, while the data plane continues. */
  readonly #ended = new Map<number, DataPlaneError>();
  #state: 'running' | 'closing' | 'closed' | 'dead' = 'running';
  #exit: WorkerExit | undefined;
  #closing: Promise<void> | undefined;
  #userRef = false;
  /** Whether the watcher keeps the event loop alive. */
  #keepsAlive = false;
  readonly #ownTrace: OwnTrace;

  private constructor(
    private readonly thread: WorkerThread,
    ready: ReadyMessage,
    { protocols, trace }: CheckedOptions,
    private readonly logger: Logger | undefined,
  ) {
    // Every log and channel has a listener.
    setMaxListeners(0, this.#lifetime.signal);
    const words = new Int32Array(thread.control);
    const signalWorker = eventfdSignaller(thread.workerEventFd.fd);
    const { COMMAND_HEAD, COMMAND_TAIL, EVENT_HEAD, EVENT_TAIL } = ControlWord;
    const writer = new RingWriter({
      data: thread.commandRing,
      words,
      head: COMMAND_HEAD,
      tail: COMMAND_TAIL,
    });
    const reader = new RingReader({ data: thread.eventRing, words, head: EVENT_HEAD, tail: EVENT_TAIL });
    this.#commands = new CommandQueue(writer, words, signalWorker, () => this.#updateRef());
    this.#inbox = new EventInbox(reader, words, this.#commands, signalWorker);
    this.#inbox.listen(SYSTEM_PROTOCOL, (_, record) => this.#onProtocolEnd(record));
    this.#numbers = new Map(protocols.map(({ name }, index) => [name, index + 1]));
    this.#ownTrace = new OwnTrace(trace);
    this.device = attachDevice(ready.device, ready.choice);
    this.protectionDomain = attachProtectionDomain(this.device, ready.protectionDomain);
    this.#watcher = FdWatcher.open(thread.applicationEventFd.fd, this.#inbox.wakeUp);
    this.#watcher.unref();
    thread.unref();
    void thread.exited.then((exit) => this.#onExit(exit));
  }

  /**
   * Starts the worker, opens the device in it and starts the protocols, in the order given. With `prepared`, the worker has
   * started already.
   * @throws DataPlaneError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION;
   *   ERR_RDMC_DATAPLANE_START_FAILED, whose `cause` is the error of the device or of a protocol; AbortError;
   *   the rejection of the promise of a device
   */
  static async open(options: DataPlaneOptions | PreparedPlaneOptions): Promise<DataPlane> {
    const { thread, checked } = threadFor(options);
    return openTrace.promise(
      () => ({ protocols: checked.protocols.map(({ name }) => name) }),
      () => DataPlane.#start(thread(), checked, options),
    );
  }

  static async #start(
    thread: WorkerThread,
    checked: CheckedOptions,
    options: Pick<DataPlaneOptions, 'device' | 'signal' | 'logger'>,
  ): Promise<DataPlane> {
    const ready = await readyWith(thread, options);
    const plane = await attached(thread, () => new DataPlane(thread, ready, checked, options.logger));
    options.logger?.debug?.({ choice: ready.choice, windowMs: checked.windowMs }, 'data plane started');
    return plane;
  }

  /**
   * Aborted when the worker has exited, after all pending calls were rejected. `reason.code` is
   * ERR_RDMC_DATAPLANE_CLOSED after a close or `terminate`, else ERR_RDMC_DATAPLANE_DIED.
   */
  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  /** Resolves when the worker has exited, and its device is closed. */
  get closed(): Promise<void> {
    return this.#lifetime.closed;
  }

  /** Shared memory with the counters, for `readCounters` in any thread. */
  get countersBuffer(): SharedArrayBuffer {
    return this.thread.control;
  }

  /** A reading of the counters, from shared memory: it does not ask the worker. */
  counters(): Counters {
    return readCounters(this.thread.control);
  }

  /**
   * Connects the application to one of the protocols: returns the functions that send its commands, and from then on
   * calls `events` in this thread, first for the earlier events. A protocol has one client.
   *
   * Commands reach the protocol in the order of the calls; if the ring is full, they wait in that order. Arguments are
   * copied at once. A call rejects with a ProtocolError of the protocol's code; with ERR_RDMC_PROTOCOL_ENDED,
   * ERR_RDMC_DATAPLANE_DIED or ERR_RDMC_DATAPLANE_CLOSED if there is no answer. A post after the end is dropped.
   * @param onEnd called when the protocol has ended, but not after a close
   * @throws DataPlaneError ERR_RDMC_UNKNOWN_PROTOCOL, ERR_RDMC_PROTOCOL_TAKEN, ERR_RDMC_INVALID_OPTION if the function
   *   of an event is missing, and the errors of calls after the end
   */
  connect<Table extends RecordTable>(
    protocol: string,
    records: Table,
    events: EventHandlers<Table>,
    onEnd: EndListener = () => {},
  ): ProtocolClient<Table> {
    this.#checkRunning();
    const number = this.#numberOf(protocol);
    if (this.#endListeners.has(number)) {
      throw new DataPlaneError(
        'ERR_RDMC_PROTOCOL_TAKEN',
        `Protocol '${protocol}' already has a client; share it`,
      );
    }
    const sink = eventSink(records, events);
    this.#endListeners.set(number, onEnd);
    this.#inbox.listen(number, sink);
    const ended = this.#ended.get(number);
    // After the events that were kept.
    if (ended) queueMicrotask(() => onEnd(ended));
    return createClient(records, {
      commands: this.#commands,
      protocol: number,
      ended: () => (this.#state === 'running' ? this.#ended.get(number) : this.#goneError()),
    });
  }

  /** Resolves when all posted records are in the ring. @throws DataPlaneError if the worker exits before */
  async drained(): Promise<void> {
    this.#checkRunning();
    return this.#commands.drained();
  }

  /** Whether the data plane runs and is not closing. @internal */
  get running(): boolean {
    return this.#state === 'running';
  }

  /** Whether the worker exited without a close or `terminate`. @internal */
  get died(): boolean {
    return this.#state === 'dead';
  }

  /** The trace of protocols that run in this thread; undefined without a trace. @internal */
  get ownTrace(): TraceSink | undefined {
    return this.#ownTrace.sink;
  }

  /** Keeps the process alive until `unref()` or the end of the data plane. */
  ref(): void {
    this.#userRef = true;
    this.#updateRef();
  }

  /** Does not keep the process alive any more, except for unanswered calls. */
  unref(): void {
    this.#userRef = false;
    this.#updateRef();
  }

  /**
   * Lets the worker execute the commands that were sent so far, stops the protocols and closes the device; idempotent.
   * Commands without an answer then reject with ERR_RDMC_DATAPLANE_CLOSED. A worker that has not stopped in
   * `timeoutMs` (default 5000) is terminated.
   * @throws DataPlaneError ERR_RDMC_DATAPLANE_DIED if stopping failed; the worker has exited in this case as well
   */
  close(options: { timeoutMs?: number } = {}): Promise<void> {
    this.#closing ??= closeTrace.promise(
      () => ({ protocols: [...this.#numbers.keys()] }),
      () => this.#close(options.timeoutMs ?? DEFAULT_STOP_TIMEOUT_MS),
    );
    return this.#closing;
  }

  /** Ends the worker at once, without stopping the protocols first. */
  terminate(): Promise<void> {
    if (!this.#isGone) this.#state = 'closing';
    this.#closing ??= this.thread.exited.then(() => undefined);
    return this.thread.terminate().then(() => undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(timeoutMs: number): Promise<void> {
    if (this.#isGone) return;
    this.#state = 'closing';
    this.thread.ref();
    this.#commands.post(tagOf(SYSTEM_PROTOCOL, SystemKind.STOP), undefined);
    if (!(await settledWithin(this.thread.exited, timeoutMs))) {
      this.logger?.warn?.({ timeoutMs }, 'data plane did not stop in time; terminating its worker');
      void this.thread.terminate();
    }
    const exit = await this.thread.exited;
    if (exit.error !== undefined) throw this.#goneError();
  }

  #onProtocolEnd(record: RecordView): void {
    const failure = decodeFailure(record.payload);
    const number = failure.protocol!;
    const name = [...this.#numbers].find(([, other]) => other === number)![0];
    const cause = protocolError(failure);
    const error = new DataPlaneError(
      'ERR_RDMC_PROTOCOL_ENDED',
      `Protocol '${name}' of the data plane failed, and has ended: ${failure.message}. The other protocols continue`,
      { cause },
    );
    this.#ended.set(number, error);
    this.logger?.warn?.({ protocol: name, reason: failure.message }, 'protocol failed');
    this.#commands.rejectProtocol(number, error);
    this.#endListeners.get(number)?.(error);
  }

  #onExit(exit: WorkerExit): void {
    this.#exit = exit;
    this.#watcher.close();
    this.#ownTrace.close();
    const expected = this.#state === 'closing' && exit.error === undefined;
    this.#state = expected ? 'closed' : 'dead';
    this.#inbox.finish();
    this.#commands.rejectAll(() => this.#goneError());
    this.#lifetime.end(this.#goneError());
    this.#lifetime.free();
    if (expected) return;
    this.logger?.warn?.({ exit }, 'data plane died');
    for (const [number, listener] of this.#endListeners) {
      if (!this.#ended.has(number)) queueMicrotask(() => listener(this.#goneError()));
    }
  }

  get #isGone(): boolean {
    return this.#state === 'closed' || this.#state === 'dead';
  }

  #goneError(): DataPlaneError {
    if (this.#state !== 'dead') {
      return new DataPlaneError('ERR_RDMC_DATAPLANE_CLOSED', 'The data plane is closed; start another one');
    }
    const exit = this.#exit!;
    return new DataPlaneError(
      'ERR_RDMC_DATAPLANE_DIED',
      `The data plane's worker died: ${describeExit(exit)}. Its queue pairs are closed; start another one`,
      { cause: exit.error },
    );
  }

  #checkRunning(): void {
    if (this.#state !== 'running') throw this.#goneError();
  }

  #numberOf(protocol: string): number {
    const number = this.#numbers.get(protocol);
    if (number !== undefined) return number;
    throw new DataPlaneError(
      'ERR_RDMC_UNKNOWN_PROTOCOL',
      `The data plane does not run a protocol '${protocol}'; it runs ${[...this.#numbers.keys()].join(', ')}`,
    );
  }

  #updateRef(): void {
    if (this.#isGone) return;
    const wanted = this.#userRef || this.#commands.busy;
    if (wanted === this.#keepsAlive) return;
    this.#keepsAlive = wanted;
    if (wanted) this.#watcher.ref();
    else this.#watcher.unref();
  }
}

/** The device is closed if the worker has ended since it was ready. @throws DataPlaneError ERR_RDMC_DATAPLANE_START_FAILED */
async function attached(thread: WorkerThread, attach: () => DataPlane): Promise<DataPlane> {
  try {
    return attach();
  } catch (cause) {
    const exit = await thread.terminate();
    const message = `The data plane's worker ended when it had started: ${describeExit(exit)}`;
    throw new DataPlaneError('ERR_RDMC_DATAPLANE_START_FAILED', message, { cause });
  }
}

/** @throws DataPlaneError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION; AbortError. No worker has been taken then */
function threadFor(options: DataPlaneOptions | PreparedPlaneOptions): {
  readonly thread: () => WorkerThread;
  readonly checked: CheckedOptions;
} {
  if (isPrepared(options)) {
    checkPreparedOptions(options);
    throwIfAborted('Starting a data plane', options.signal);
    const { thread, checked } = options.prepared.take();
    return { checked, thread: () => thread };
  }
  const checked = checkOptions(options);
  throwIfAborted('Starting a data plane', options.signal);
  return { checked, thread: () => new WorkerThread(checked) };
}

function isPrepared(options: DataPlaneOptions | PreparedPlaneOptions): options is PreparedPlaneOptions {
  return typeof options === 'object' && options !== null && 'prepared' in options;
}

/** Opens the device in the worker and resolves with its message. The worker has exited when this rejects. */
async function readyWith(
  thread: WorkerThread,
  { device = {}, signal }: Pick<DataPlaneOptions, 'device' | 'signal'>,
): Promise<ReadyMessage> {
  const opened = Promise.resolve(device).then((options) => thread.open(options));
  try {
    const [ready] = await Promise.all([thread.ready(signal), opened]);
    return ready;
  } catch (error) {
    await thread.terminate();
    throw error;
  }
}
