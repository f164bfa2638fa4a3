import { tracingChannel } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';

/** An operation that a tracing channel reported: the fields of its message, with `result` or `error` once it has ended. */
export type TracedOperation = Record<string, unknown>;

/** The operations of a tracing channel from now to the end of the test, in the order in which they began. */
export function watchedTrace(name: string): readonly TracedOperation[] {
  const operations: TracedOperation[] = [];
  const start = (message: unknown): void => void operations.push(message as TracedOperation);
  const handlers = { start, end() {}, asyncStart() {}, asyncEnd() {}, error() {} };
  const channel = tracingChannel<unknown, object>(name);
  channel.subscribe(handlers);
  onTestFinished(() => channel.unsubscribe(handlers));
  return operations;
}
