import type { CompletionChannel, CompletionQueue } from '@rdmc/verbs';
import { DEFAULT_INLINE_QUEUE_DEPTH } from './constants.js';
import { createControl } from './control.js';
import { Counter, CounterBlock, type Counters, readCounters } from './counters.js';
import type { DataPlane, EndListener } from './data-plane.js';
import { DataPlaneError, errorFacts } from './errors.js';
import type { HostedProtocol } from './hosted-protocol.js';
import { InlineCalls } from './inline-calls.js';
import { InlinePace } from './inline-pace.js';
import { inlineEvents, owned } from './inline-records.js';
import type { ProtocolWorker } from './protocol.js';
import { ProtocolHost } from './protocol-host.js';
import type { Handler } from './record-codec.js';
import { commandsOf } from './record-functions.js';
import type { Call, EventHandlers, Payload, ProtocolClient, RecordTable } from './record-table.js';

/** The completions for which the completion channel is armed. */
const Armed = { NOTHING: 0, SOLICITED: 1, ANY: 2 } as const;

/** The options of an {@link InlineDriver}. */
export interface InlineOptions<Table extends RecordTable> {
  /** Name of the protocol, for its errors and counters. */
  readonly name: string;
  /** The default export of the protocol's module. */
  readonly worker: ProtocolWorker<Table>;
  /** The protocol gets it as `context.data`, not cloned. */
  readonly data?: unknown;
  /** Called during a turn, one function for each event of the table. */
  readonly events: EventHandlers<Table>;
  /** Called once when the protocol has ended because it threw or the data plane died, but not after a close. */
  readonly onEnd?: EndListener;
}

/**
 * Runs one protocol in the application's thread, on a data plane's device, with its own completion queue. A command
 * does not wake another thread and is not encoded. If the device completes writes at once (over shared memory the
 * doorbell copies), the completion is there in the same turn of the event loop. The completion channel reports later
 * completions. Belongs to the thread that started it. Ends with its data plane; close it before.
 *
 * Other work of the event loop delays the protocol, and the protocol delays that work: run protocols that must react to
 * other members in time in the worker. Keeps the process alive only while calls are unanswered.
 */
export class InlineDriver<Table extends RecordTable> {
  /** Sends the protocol's commands. Commands that are sent until the microtasks run share one doorbell. */
  readonly client: ProtocolClient<Table>;
  readonly #control = createControl();
  readonly #counters = new CounterBlock(this.#control);
  readonly #channel: CompletionChannel;
  readonly #completions: CompletionQueue;
  readonly #host: ProtocolHost;
  readonly #pace = new InlinePace();
  readonly #calls = new InlineCalls(this.#pace, () => this.#updateRef());
  #hosted!: HostedProtocol;
  #commands!: ReadonlyMap<string, Handler>;
  #scheduled = false;
  #lookScheduled = false;
  #turnAsked = false;
  #armed: number = Armed.NOTHING;
  /** Whether the channel keeps the event loop alive. */
  #keepsAlive = false;
  /** The reason of the end; undefined before. */
  #end: DataPlaneError | undefined;
  #released: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    private readonly plane: DataPlane,
    private readonly options: InlineOptions<Table>,
  ) {
    const { device, protectionDomain } = plane;
    this.#channel = device.createCompletionChannel();
    const depth = Math.min(DEFAULT_INLINE_QUEUE_DEPTH, device.attributes.maxCompletionQueueDepth);
    this.#completions = device.createCompletionQueue({ depth, channel: this.#channel });
    this.#channel.onEvent(() => {
      this.#armed = Armed.NOTHING;
      this.#counters.values[Counter.wakeups]! += 1;
      this.#turn();
    });
    this.#channel.unref();
    this.#host = new ProtocolHost({
      device,
      protectionDomain,
      completionQueue: this.#completions,
      counters: this.#counters,
      trace: plane.ownTrace,
      wake: () => this.#askTurn(),
      look: () => this.#askLook(),
      onFailure: (_, error) => this.#failed(protocolEnded(options.name, error)),
    });
    this.client = this.#createClient();
    plane.signal.addEventListener('abort', this.#planeEnded, { once: true });
  }

  /** @throws the errors of the protocol's start; VerbsError if the device cannot create a completion queue */
  static async open<Table extends RecordTable>(
    plane: DataPlane,
    options: InlineOptions<Table>,
  ): Promise<InlineDriver<Table>> {
    const { name, data, worker, events } = options;
    const driver = new InlineDriver(plane, options);
    try {
      const eventsOf = (hosted: HostedProtocol) => inlineEvents(worker.records, events, hosted);
      const hosted = await driver.#host.add(name, data, worker, eventsOf);
      driver.#commands = commandsOf(name, worker.records, hosted.protocol);
      driver.#hosted = hosted;
    } catch (error) {
      await driver.close();
      throw error;
    }
    return driver;
  }

  /** The same counters as those of a data plane: completions, polls, turns, wake-ups, and the protocol's own. */
  counters(): Counters {
    return readCounters(this.#control);
  }

  /**
   * Stops the protocol, and resolves when the device does not use its memory any more; idempotent. Calls without an
   * answer then reject with ERR_RDMC_DATAPLANE_CLOSED.
   * @throws the errors of the protocol's stop; the protocol has ended in this case as well
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #planeEnded = (): void => {
    const error = this.plane.signal.reason as DataPlaneError;
    if (this.plane.died) this.#failed(error);
    else this.#finish(error);
  };

  async #close(): Promise<void> {
    try {
      if (!this.#end) {
        const stopped = this.#host.stop();
        this.#askTurn();
        await stopped;
      }
    } finally {
      this.#finish(closedError(this.options.name));
      await this.#released;
    }
  }

  /** Rejects all pending calls, and frees the device's resources. The first reason counts. */
  #finish(reason: DataPlaneError): void {
    if (this.#end) return;
    this.#end = reason;
    this.#calls.rejectAll(reason);
    this.#released = this.#release();
    // `close` reports this error.
    this.#released.catch(() => {});
  }

  async #release(): Promise<void> {
    this.plane.signal.removeEventListener('abort', this.#planeEnded);
    try {
      await this.#host.release();
    } finally {
      await this.#completions.close();
      await this.#channel.close();
    }
  }

  /** The protocol threw, or the data plane died. */
  #failed(error: DataPlaneError): void {
    if (this.#end) return;
    this.#finish(error);
    // Before the protocol has started, `open` rejects instead.
    if (this.#hosted) queueMicrotask(() => this.options.onEnd?.(error));
  }

  #createClient(): ProtocolClient<Table> {
    const entries = Object.entries(this.options.worker.records.commands).map(
      ([name, { payload, answer }]) => [
        name,
        answer ? this.#caller(name, { payload, answer }) : this.#poster(name, payload),
      ],
    );
    return Object.fromEntries(entries) as ProtocolClient<Table>;
  }

  #poster(name: string, payload: Payload<readonly unknown[]>): Handler {
    let handler: Handler | undefined;
    return (a, b, c, d, e, f, g, h) => {
      if (this.#gone) return false;
      const first = owned(payload, a);
      handler ??= this.#commands.get(name)!;
      this.#counters.values[Counter.commands]! += 1;
      try {
        handler(first, b, c, d, e, f, g, h);
      } catch (error) {
        this.#host.fail(this.#hosted, error);
      }
      this.#askTurn();
      return true;
    };
  }

  #caller(name: string, { payload, answer }: Call<readonly unknown[], readonly unknown[]>): Handler {
    const own = (value: unknown): unknown => owned(answer, value);
    return async (a, b, c, d, e, f, g, h) => {
      const gone = this.#gone;
      if (gone) throw gone;
      const first = owned(payload, a);
      this.#counters.values[Counter.commands]! += 1;
      this.#askTurn();
      return this.#calls.run(() => this.#commands.get(name)!(first, b, c, d, e, f, g, h), own);
    };
  }

  /** The reason why commands cannot be sent any more. */
  get #gone(): DataPlaneError | undefined {
    if (this.#end) return this.#end;
    return this.#closing || !this.plane.running ? closedError(this.options.name) : undefined;
  }

  /** Asks for a turn. Commands need one, too: they may write requests for its end. */
  #askTurn(): void {
    this.#turnAsked = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (this.#pace.mayGoOn()) queueMicrotask(this.#run);
    else setImmediate(this.#run);
  }

  /** Asks for a look. The current step and a turn of the event loop come first. */
  #askLook(): void {
    if (this.#lookScheduled) return;
    this.#lookScheduled = true;
    setImmediate(() => {
      this.#lookScheduled = false;
      this.#turnAsked = true;
      this.#turn();
    });
  }

  readonly #run = (): void => {
    this.#scheduled = false;
    this.#turn();
  };

  #turn(): void {
    try {
      if (this.#end || !this.#steps()) return;
      this.#updateRef();
      const wanted = this.#host.waitsForSolicited() ? Armed.SOLICITED : Armed.ANY;
      if (wanted <= this.#armed || this.#end) return;
      this.#armed = wanted;
      this.#completions.arm({ solicitedOnly: wanted === Armed.SOLICITED });
      // A completion before the arming does not raise an event.
      this.#steps();
    } catch (error) {
      this.#deviceFailed(error);
    }
  }

  /** Steps until there is no work: true; false if the protocol has ended, or it is the event loop's turn. */
  #steps(): boolean {
    while (this.#step()) {
      if (this.#end) return false;
      if (!this.#pace.mayGoOn()) {
        this.#schedule();
        return false;
      }
    }
    return true;
  }

  /** One doorbell and one poll. Returns whether there was work. */
  #step(): boolean {
    const host = this.#host;
    const { values } = this.#counters;
    const asked = this.#turnAsked || host.submission.pending > 0;
    this.#turnAsked = false;
    host.ringDoorbell();
    const refused = host.dispatchRefused();
    const count = this.#completions.pollBatch();
    values[Counter.polls]! += 1;
    values[Counter.completions]! += count;
    if (count === 0) values[Counter.emptyPolls]! += 1;
    else host.dispatchCompletions(count);
    if (!asked && refused + count === 0) return false;
    values[Counter.turns]! += 1;
    host.afterWork();
    return true;
  }

  /** An error of the device: the host catches errors of protocols. A data plane that closes also closes the device. */
  #deviceFailed(error: unknown): void {
    if (this.plane.running) this.#failed(protocolEnded(this.options.name, error));
    else this.#finish(closedError(this.options.name));
  }

  #updateRef(): void {
    const wanted = this.#calls.pending && !this.#end;
    if (wanted === this.#keepsAlive) return;
    this.#keepsAlive = wanted;
    if (wanted) this.#channel.ref();
    else this.#channel.unref();
  }
}

function protocolEnded(name: string, error: unknown): DataPlaneError {
  const { message } = errorFacts(error);
  return new DataPlaneError(
    'ERR_RDMC_PROTOCOL_ENDED',
    `Protocol '${name}' failed in the application's thread, and has ended: ${message}`,
    { cause: error },
  );
}

function closedError(name: string): DataPlaneError {
  return new DataPlaneError('ERR_RDMC_DATAPLANE_CLOSED', `Protocol '${name}' is closed; start it again`);
}
