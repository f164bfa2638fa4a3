import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';

/** A message as the subscribers get it: Node.js adds the outcome. */
type Traced<Message extends object> = Message & { result?: unknown; error?: unknown };

/**
 * The tracing channel of one operation: `new Tracer('@rdmc/group:send')`. Subscribers use
 * `tracingChannel('@rdmc/group:send')` of `node:diagnostics_channel`; the message has `result` or `error` at the end.
 * Without a subscriber, an operation costs one check: its message is not made.
 */
export class Tracer<Message extends object> {
  readonly #channel: TracingChannel<unknown, Traced<Message>>;

  constructor(
    /** The name of the channel: `@rdmc/group:send`. */
    readonly name: string,
  ) {
    this.#channel = tracingChannel<unknown, Traced<Message>>(name);
  }

  /** Whether anybody subscribes: for paths where not even the closures of a traced call may be made. */
  get isWatched(): boolean {
    return this.#channel.hasSubscribers;
  }

  /** Runs an operation that ends later. `describe` is called only if somebody subscribes. */
  promise<T>(describe: () => Message, operation: () => Promise<T>): Promise<T> {
    if (!this.#channel.hasSubscribers) return operation();
    return this.#channel.tracePromise(operation, describe());
  }

  /** Runs an operation that ends when it returns. */
  sync<T>(describe: () => Message, operation: () => T): T {
    if (!this.#channel.hasSubscribers) return operation();
    return this.#channel.traceSync(operation, describe()) as T;
  }
}
