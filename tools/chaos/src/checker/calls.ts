import type { Operation } from './history.js';

/** A call or the answer of an operation that was answered. */
export interface Entry {
  readonly operation: Operation;
  /** The operation's place among the answered ones. */
  readonly index: number;
  readonly at: number;
  /** The answer of a call. Undefined for an answer. */
  readonly answer: Entry | undefined;
  previous: Entry | undefined;
  next: Entry | undefined;
}

/** The calls and answers of these operations, all of them answered, as a list by time. Returns the entry before the first. */
export function listOfCalls(operations: readonly Operation[]): Entry {
  const entries: Entry[] = [];
  const links = { previous: undefined, next: undefined };
  operations.forEach((operation, index) => {
    const shared = { operation, index, ...links };
    const answer = { ...shared, at: operation.answer!.at, answer: undefined };
    entries.push(answer, { ...shared, at: operation.calledAt, answer });
  });
  // At the same instant calls come first: then the two overlap, which allows more orders.
  entries.sort((a, b) => a.at - b.at || Number(Boolean(b.answer)) - Number(Boolean(a.answer)));
  const nothing: Operation = { client: 0, key: '', action: { kind: 'get' }, calledAt: 0, answer: undefined };
  const shared = { operation: nothing, ...links };
  const head: Entry = { ...shared, index: -1, at: 0, answer: undefined };
  let previous = head;
  for (const entry of entries) {
    entry.previous = previous;
    previous.next = entry;
    previous = entry;
  }
  return head;
}

/** Removes a call and its answer from the list. */
export function lift(call: Entry): void {
  unlink(call);
  unlink(call.answer!);
}

function unlink({ previous, next }: Entry): void {
  if (previous) previous.next = next;
  if (next) next.previous = previous;
}

/** Reverses `lift`, in the opposite order, so that each entry gets its former neighbours. */
export function unlift(call: Entry): void {
  relink(call.answer!);
  relink(call);
}

function relink(entry: Entry): void {
  if (entry.previous) entry.previous.next = entry;
  if (entry.next) entry.next.previous = entry;
}
