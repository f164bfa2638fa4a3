import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import { codeOf } from '@rdmc/common';
import type { Counter, Histogram } from './instruments.js';

/** The operations that are timed unless the options name others: none of them is a hot path. */
export const OPERATIONS: readonly string[] = [
  'verbs:open',
  'verbs:connect',
  'dataplane:open',
  'mesh:join',
  'node:join',
  'group:create',
  'group:send',
  'group:close',
  'hipower:create',
  'hipower:end',
  'tailwind:create',
  'tailwind:recover',
  'cast:cast',
  'cast:receive',
  'kv:start',
  'kv:takeover',
];

export interface OperationMetrics {
  readonly durations: Histogram;
  readonly errors: Counter;
  /** Bytes of messages, for operations that have them. */
  readonly messages: Histogram;
}

type Message = { readonly byteLength?: number; readonly error?: unknown };

/** Times the operations of one tracing channel, `@rdmc/<operation>`, in this thread. */
export class OperationWatch {
  readonly #channel: TracingChannel<unknown, object>;
  readonly #began = new WeakMap<object, number>();
  readonly #handlers = {
    start: (message: object): void => void this.#began.set(message, performance.now()),
    end: (): void => {},
    asyncStart: (): void => {},
    asyncEnd: (message: object): void => this.#ended(message, false),
    error: (message: object): void => this.#ended(message, true),
  };

  constructor(
    private readonly operation: string,
    private readonly metrics: OperationMetrics,
  ) {
    this.#channel = tracingChannel(`@rdmc/${operation}`);
    this.#channel.subscribe(this.#handlers as never);
  }

  close(): void {
    this.#channel.unsubscribe(this.#handlers as never);
  }

  /** An operation that fails has both events; the first one counts. */
  #ended(message: Message, hasFailed: boolean): void {
    const began = this.#began.get(message);
    if (began === undefined) return;
    this.#began.delete(message);
    const { operation } = this;
    const outcome = hasFailed ? 'error' : 'ok';
    this.metrics.durations.record((performance.now() - began) / 1000, { operation, outcome });
    if (hasFailed) this.metrics.errors.add(1, { operation, code: codeOf(message.error) ?? 'unknown' });
    else if (message.byteLength !== undefined)
      this.metrics.messages.record(message.byteLength, { operation });
  }
}
