import { performance } from 'node:perf_hooks';
import type { CompletionChannel, CompletionQueue } from '@rdmc/verbs';
import { DEFAULT_INLINE_QUEUE_DEPTH, INLINE_TURN_MS } from './constants.js';
import { createControl } from './control.js';
import { Counter, CounterBlock, type Counters, readCounters } from './counters.js';
import type { DataPlane, EndListener } from './data-plane.js';
import { DataPlaneError, errorFacts, ProtocolError } from './errors.js';
import type { HostedProtocol } from './hosted-protocol.js';
import type { ProtocolWorker } from './protocol.js';
import { ProtocolHost } from './protocol-host.js';
import type { Handler } from './record-codec.js';
import type { EventHandlers, ProtocolClient, RecordTable } from './record-table.js';

/** What the completion channel is armed for. */
const Armed = { NOTHING: 0, SOLICITED: 1, ANY: 2 } as const;

export interface InlineOptions<Table extends RecordTable> {
  readonly name: string;
  /** What the module of the protocol exports for a worker. */
  readonly worker: ProtocolWorker<Table>;
  /** Reaches the protocol as `context.data`, as it is. */
  readonly data?: unknown;
  /** Called during a turn. */
  readonly events: EventHandlers<Table>;
  /** Hears, once, that the protocol does nothing any more: it threw, or the data plane died. */
  readonly onEnd?: EndListener;
}

/**
 * Runs one protocol in the application's thread, on a data plane's device, with a completion queue of its own. A command
 * goes out without waking another thread and without being encoded; where the device completes writes at once (over shared
 * memory the doorbell copies), its completion is there in the same turn of the event loop. What is not complete then is heard
 * of through the completion channel. Belongs to the thread that started it.
 *
 * What the event loop does meanwhile delays the protocol, and the other way round: for protocols that react to other members
 * in time, the worker is the place.
 */
export class InlineDriver<Table extends RecordTable> {
  /** Sends the protocol's commands. What is sent until the microtasks run goes out with one doorbell. */
  readonly client: ProtocolClient<Table>;
  readonly #control = createControl();
  readonly #counters = new CounterBlock(this.#control);
  readonly #channel: CompletionChannel;
  readonly #completions: CompletionQueue;
  readonly #host: ProtocolHost;
  readonly #waiting = new Set<(error: Error) => void>();
  #hosted!: HostedProtocol;
  #scheduled = false;
  #lookScheduled = false;
  #turnAsked = false;
  /** When the event loop came to the first work in its present turn; undefined before that work. */
  #turnBegan: number | undefined;
  #armed: number = Armed.NOTHING;
  #end: DataPlaneError | undefined;
  #closing: Promise<void> | undefined;
  readonly #removeDeathListener: () => void;

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
    this.#channel.ref(false);
    this.#host = new ProtocolHost({
      device,
      protectionDomain,
      completionQueue: this.#completions,
      counters: this.#counters,
      wake: () => this.#askTurn(),
      look: () => this.#askLook(),
      onFailure: (_, error) => this.#failed(protocolEnded(options.name, error)),
    });
    this.client = this.#createClient();
    this.#removeDeathListener = plane.onDeath((error) => this.#failed(error));
  }

  /** @throws what the protocol's start throws; VerbsError where the device has no room for a completion queue */
  static async start<Table extends RecordTable>(
    plane: DataPlane,
    options: InlineOptions<Table>,
  ): Promise<InlineDriver<Table>> {
    const driver = new InlineDriver(plane, options);
    try {
      const events = (hosted: HostedProtocol) => guarded(options.events, hosted);
      driver.#hosted = await driver.#host.add(options.name, options.data, options.worker, events);
    } catch (error) {
      await driver.close();
      throw error;
    }
    return driver;
  }

  /** As of a data plane: completions, polls, turns, wake-ups, and the protocol's own. */
  counters(): Counters {
    return readCounters(this.#control);
  }

  /** Stops the protocol, and resolves when the device has let go of all memory. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    if (this.#gone) return;
    const stopped = this.#host.stop();
    this.#askTurn();
    await stopped;
    this.#end = closedError(this.options.name);
    this.#rejectAll(this.#end);
    await this.#release();
  }

  async #release(): Promise<void> {
    this.#removeDeathListener();
    await this.#host.released();
    await this.#completions.close();
    await this.#channel.close();
  }

  #createClient(): ProtocolClient<Table> {
    const entries = Object.entries(this.options.worker.records.commands).map(([name, { answer }]) => [
      name,
      answer ? this.#caller(name) : this.#poster(name),
    ]);
    return Object.fromEntries(entries) as ProtocolClient<Table>;
  }

  #poster(name: string): Handler {
    let handler: Handler | undefined;
    return (a, b, c, d, e, f, g, h) => {
      if (this.#gone) return false;
      handler ??= this.#handler(name);
      try {
        handler(a, b, c, d, e, f, g, h);
        this.#counters.values[Counter.commands]! += 1;
      } catch (error) {
        this.#host.fail(this.#hosted, error);
      }
      this.#askTurn();
      return true;
    };
  }

  #caller(name: string): Handler {
    return (argument) =>
      new Promise((resolve, reject) => {
        const gone = this.#gone;
        if (gone) throw gone;
        this.#waiting.add(reject);
        this.#counters.values[Counter.commands]! += 1;
        const run = async (): Promise<unknown> => this.#handler(name)(argument);
        run()
          .then(resolve, (error: unknown) => {
            const { code, message } = errorFacts(error);
            reject(new ProtocolError(code, message, { cause: error }));
          })
          .finally(() => this.#waiting.delete(reject));
        this.#askTurn();
      });
  }

  #handler(name: string): Handler {
    const commands = this.#hosted.protocol!.commands as Readonly<Record<string, Handler>>;
    return commands[name]!.bind(commands);
  }

  /** Why nothing can be sent any more. With the data plane its device went, and every queue pair on it. */
  get #gone(): DataPlaneError | undefined {
    return this.#end ?? (this.plane.closed ? closedError(this.options.name) : undefined);
  }

  #failed(error: DataPlaneError): void {
    if (this.#end) return;
    this.#end = error;
    this.#rejectAll(error);
    if (!this.plane.closed) void this.#release().catch(() => {});
    this.options.onEnd?.(error);
  }

  #rejectAll(error: Error): void {
    for (const reject of this.#waiting) reject(error);
    this.#waiting.clear();
  }

  /** Commands, too, may leave something for the end of a turn. */
  #askTurn(): void {
    this.#turnAsked = true;
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (this.#mayGoOn()) queueMicrotask(this.#run);
    else setImmediate(this.#run);
  }

  /** The event loop has its turn first, and the step that asked comes to an end. */
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

  /**
   * Whoever sends again when a completion is there has the next completion in the same turn of the event loop, and so on:
   * timers, and with them leases, and what comes from other members would have to wait. So such a chain is cut now and then.
   */
  #mayGoOn(): boolean {
    const now = performance.now();
    if (this.#turnBegan === undefined) {
      this.#turnBegan = now;
      setImmediate(() => {
        this.#turnBegan = undefined;
      });
    }
    return now - this.#turnBegan < INLINE_TURN_MS;
  }

  #turn(): void {
    if (this.#gone) return;
    try {
      this.#work();
    } catch (error) {
      // The device closes with its data plane, before this thread hears of that.
      if (errorFacts(error).code !== 'ERR_RDMC_DEVICE_CLOSED') throw error;
      this.#failed(closedError(this.options.name));
    }
  }

  #work(): void {
    while (this.#step()) if (this.#gone) return;
    const wanted = this.#host.waitsForSolicited() ? Armed.SOLICITED : Armed.ANY;
    if (wanted <= this.#armed) return;
    this.#armed = wanted;
    this.#completions.arm({ solicitedOnly: wanted === Armed.SOLICITED });
    // What came before the arming makes no event.
    while (this.#step()) if (this.#gone) return;
  }

  /** One doorbell and one poll. Whether there was anything to do. */
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
}

/** Events of a protocol that has ended reach nobody. */
function guarded<Table extends RecordTable>(
  events: EventHandlers<Table>,
  hosted: HostedProtocol,
): EventHandlers<Table> {
  const functions = events as Readonly<Record<string, Handler>>;
  const entries = Object.keys(functions).map((name) => {
    const handler = functions[name]!.bind(functions);
    const emit: Handler = (a, b, c, d, e, f, g, h) => {
      if (!hosted.failure) handler(a, b, c, d, e, f, g, h);
    };
    return [name, emit];
  });
  return Object.fromEntries(entries) as EventHandlers<Table>;
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
