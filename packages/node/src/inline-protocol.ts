import {
  type Counters,
  type DataPlane,
  type EndListener,
  type EventHandlers,
  InlineDriver,
  type ProtocolClient,
  type ProtocolWorker,
  type RecordTable,
} from '@rdmc/dataplane';
import { NodeError } from './errors.js';

type Handlers = Record<string, (...args: unknown[]) => void>;

/** A protocol whose worker side runs in the application's thread. Keeps its events until the API connects to it. */
export class InlineProtocol<Table extends RecordTable> {
  #driver!: InlineDriver<Table>;
  #events: Handlers | undefined;
  #onEnd: EndListener | undefined;
  /** Events and the end, from before the API connected. */
  readonly #early: (() => void)[] = [];

  private constructor(private readonly name: string) {}

  /** @throws the errors of the protocol's start; VerbsError if the device cannot create a completion queue */
  static async open<Table extends RecordTable>(
    plane: DataPlane,
    name: string,
    worker: ProtocolWorker<Table>,
    data: unknown,
  ): Promise<InlineProtocol<Table>> {
    const inline = new InlineProtocol<Table>(name);
    const events = Object.keys(worker.records.events).map((event) => [event, inline.#eventOf(event)]);
    inline.#driver = await InlineDriver.open(plane, {
      name,
      worker,
      data,
      events: Object.fromEntries(events) as EventHandlers<Table>,
      onEnd: (error) => inline.#later(() => inline.#onEnd?.(error)),
    });
    return inline;
  }

  /** Connects the API; works once. @throws NodeError ERR_RDMC_PROTOCOL_TAKEN */
  connect(events: EventHandlers<Table>, onEnd: EndListener = () => {}): ProtocolClient<Table> {
    if (this.#events) {
      throw new NodeError(
        'ERR_RDMC_PROTOCOL_TAKEN',
        `Protocol '${this.name}' already has a client; share it`,
      );
    }
    this.#events = events as Handlers;
    this.#onEnd = onEnd;
    queueMicrotask(() => {
      for (const tell of this.#early.splice(0)) tell();
    });
    return this.#driver.client;
  }

  counters(): Counters {
    return this.#driver.counters();
  }

  close(): Promise<void> {
    return this.#driver.close();
  }

  #eventOf(event: string): (...args: unknown[]) => void {
    return (...args) => this.#later(() => this.#events![event]!(...args));
  }

  /** Calls, or keeps until the API connects, in the order of arrival. */
  #later(tell: () => void): void {
    if (this.#events && this.#early.length === 0) tell();
    else this.#early.push(tell);
  }
}
