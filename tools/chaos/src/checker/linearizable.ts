/*
 * Linearizability of one register (Wing and Gong, 1993), with Lowe's cache of visited states (2017): is there an order
 * of all operations, each between its call and its answer, that gives every answer when they run one after the other?
 *
 * Calls and answers are in one list by time. The search takes an operation whose call is before the first remaining
 * answer, applies it, and removes call and answer from the list; at a remaining answer it backtracks. A pair of
 * (operations taken, state) that was reached before is not visited again. Operations without an answer may be taken
 * at any time or never: the search ends when all answered operations are taken.
 */
import type { Operation } from './history.js';
import { apply, type State } from './register.js';

export type Verdict =
  | { readonly ok: true }
  /** `after`: the longest valid order; none of `stuck` can follow it. */
  | { readonly ok: false; readonly after: readonly Operation[]; readonly stuck: readonly Operation[] }
  | { readonly ok: undefined; readonly reason: string };

interface Entry {
  readonly operation: Operation;
  readonly index: number;
  /** The answer of a call. Undefined for an answer, and for a call without an answer. */
  readonly answer: Entry | undefined;
  readonly isCall: boolean;
  previous: Entry | undefined;
  next: Entry | undefined;
}

interface Step {
  readonly entry: Entry;
  readonly before: State;
}

/** Limit of steps; a history with few concurrent calls needs far fewer. */
const MAX_STEPS = 20_000_000;

/** @param operations all operations of one key, in any order */
export function checkRegister(operations: readonly Operation[], initial: State = null): Verdict {
  const head = buildList(operations);
  const taken = new Uint32Array(Math.ceil(operations.length / 32));
  const seen = new Set<string>();
  const steps: Step[] = [];
  let longest: Step[] = [];
  let stuck: Operation[] = [];
  let left = operations.filter(({ answer }) => answer).length;
  let state = initial;
  let entry = head.next;
  for (let count = 0; left > 0; count += 1) {
    if (count > MAX_STEPS) return { ok: undefined, reason: `no verdict after ${MAX_STEPS} steps` };
    if (entry?.isCall) {
      const after = tryStep(state, entry.operation);
      if (after === undefined) {
        entry = entry.next;
        continue;
      }
      flip(taken, entry.index);
      const key = `${taken.join()} ${after.value === null ? '-' : `=${after.value}`}`;
      if (seen.has(key)) {
        flip(taken, entry.index);
        entry = entry.next;
        continue;
      }
      seen.add(key);
      steps.push({ entry, before: state });
      state = after.value;
      lift(entry);
      if (entry.answer) left -= 1;
      entry = head.next;
      continue;
    }
    if (steps.length >= longest.length) {
      longest = [...steps];
      stuck = openCalls(head);
    }
    const last = steps.pop();
    if (!last) return { ok: false, after: longest.map((step) => step.entry.operation), stuck };
    state = last.before;
    flip(taken, last.entry.index);
    unlift(last.entry);
    if (last.entry.answer) left += 1;
    entry = last.entry.next;
  }
  return { ok: true };
}

/** The state after the operation; undefined if its answer does not match. */
function tryStep(state: State, { action, answer }: Operation): { value: State } | undefined {
  const { state: value, result } = apply(state, action);
  return answer && answer.result !== result ? undefined : { value };
}

/** Calls before the first answer. */
function openCalls(head: Entry): Operation[] {
  const calls: Operation[] = [];
  for (let entry = head.next; entry?.isCall; entry = entry.next) calls.push(entry.operation);
  return calls;
}

function buildList(operations: readonly Operation[]): Entry {
  const entries: (Entry & { readonly at: number })[] = [];
  const links = { previous: undefined, next: undefined };
  operations.forEach((operation, index) => {
    const shared = { operation, index, ...links };
    const { answer, calledAt } = operation;
    const end = answer && { ...shared, isCall: false, answer: undefined, at: answer.at };
    if (end) entries.push(end);
    entries.push({ ...shared, isCall: true, answer: end, at: calledAt });
  });
  // At the same instant calls come first: then the two overlap, which allows more orders.
  entries.sort((a, b) => a.at - b.at || Number(b.isCall) - Number(a.isCall));
  const nothing: Operation = { client: 0, key: '', action: { kind: 'get' }, calledAt: 0, answer: undefined };
  const head: Entry = { operation: nothing, index: -1, isCall: true, answer: undefined, ...links };
  let previous = head;
  for (const entry of entries) {
    entry.previous = previous;
    previous.next = entry;
    previous = entry;
  }
  return head;
}

function lift(call: Entry): void {
  unlink(call);
  if (call.answer) unlink(call.answer);
}

function unlink({ previous, next }: Entry): void {
  if (previous) previous.next = next;
  if (next) next.previous = previous;
}

/** Reverses `lift`, in the opposite order, so that each entry gets its former neighbours. */
function unlift(call: Entry): void {
  if (call.answer) relink(call.answer);
  relink(call);
}

function relink(entry: Entry): void {
  if (entry.previous) entry.previous.next = entry;
  if (entry.next) entry.next.previous = entry;
}

function flip(bits: Uint32Array, index: number): void {
  bits[index >>> 5]! ^= 1 << (index & 31);
}
