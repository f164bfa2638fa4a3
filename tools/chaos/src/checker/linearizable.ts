/*
 * Linearizability of one register (Wing and Gong, 1993), with Lowe's cache of visited states (2017): is there an order
 * of all operations, each between its call and its answer, that gives every answer when they run one after the other?
 *
 * Calls and answers are in one list by time. The search takes an operation whose call is before the first remaining
 * answer, applies it, and removes call and answer from the list; where none can be taken, it backtracks.
 *
 * Operations without an answer may be taken at any time or never: the search ends when all answered operations are taken.
 * A dozen of them would make thousands of sets of those that were taken. So of the same operations only the one that was
 * called first is tried, those without an answer are tried last, and a state is not visited again that was reached with the
 * same answered operations and a part of those without an answer: whatever follows it could follow that one too.
 */
import type { Action, Operation } from './history.js';
import { apply, type State } from './register.js';

export type Verdict =
  | { readonly ok: true }
  /** `after`: the longest valid order; none of `stuck` can follow it. */
  | { readonly ok: false; readonly after: readonly Operation[]; readonly stuck: readonly Operation[] }
  | { readonly ok: undefined; readonly reason: string };

/** A call or the answer of an operation that was answered. */
interface Entry {
  readonly operation: Operation;
  readonly action: Action;
  readonly index: number;
  readonly at: number;
  /** The answer of a call. Undefined for an answer. */
  readonly answer: Entry | undefined;
  previous: Entry | undefined;
  next: Entry | undefined;
}

/** An operation without an answer. */
interface Open {
  readonly operation: Operation;
  readonly action: Action;
  /** Its bit in the set of those that were taken. */
  readonly bit: bigint;
  /** The same operation, called before. */
  readonly twin: Open | undefined;
}

type Candidate = Entry | Open;

/** A place of the search: how it was reached, and what can be tried there. */
interface Place {
  readonly step: { readonly taken: Candidate; readonly before: State } | undefined;
  readonly candidates: readonly Candidate[];
  next: number;
}

/** Limit of steps; a history with few concurrent calls needs far fewer. */
const MAX_STEPS = 20_000_000;

/** @param operations all operations of one key, in any order */
export function checkRegister(operations: readonly Operation[], initial: State = null): Verdict {
  return new Search(operations, initial).run();
}

class Search {
  readonly #head: Entry;
  readonly #open: readonly Open[];
  /** Answered operations. */
  readonly #taken: Uint32Array;
  #left: number;
  #takenOpen = 0n;
  #state: State;
  /** By answered operations and state, the sets of operations without an answer with which it was reached. */
  readonly #seen = new Map<string, bigint[]>();
  #longest: Operation[] = [];
  #stuck: Operation[] = [];

  constructor(operations: readonly Operation[], initial: State) {
    const answered = operations.filter(({ answer }) => answer);
    const actionOf = actionsOf(operations);
    this.#head = buildList(answered, actionOf);
    this.#open = openOf(operations, actionOf);
    this.#taken = new Uint32Array(Math.ceil(answered.length / 32));
    this.#left = answered.length;
    this.#state = initial;
  }

  run(): Verdict {
    const path: Place[] = [this.#place(undefined)];
    for (let count = 0; this.#left > 0; count += 1) {
      if (count > MAX_STEPS) return { ok: undefined, reason: `no verdict after ${MAX_STEPS} steps` };
      const place = path.at(-1);
      if (!place) return { ok: false, after: this.#longest, stuck: this.#stuck };
      const candidate = place.candidates[place.next];
      place.next += 1;
      if (candidate === undefined) this.#giveUp(path);
      else {
        const step = this.#take(candidate);
        if (step) path.push(this.#place(step));
      }
    }
    return { ok: true };
  }

  #place(step: Place['step']): Place {
    const candidates: Candidate[] = [];
    let entry = this.#head.next;
    for (; entry?.answer; entry = entry.next) candidates.push(entry);
    const limit = entry?.at ?? Number.POSITIVE_INFINITY;
    const isTaken = ({ bit }: Open): boolean => (this.#takenOpen & bit) !== 0n;
    for (const open of this.#open) {
      const isNext = !isTaken(open) && (!open.twin || isTaken(open.twin));
      if (isNext && open.operation.calledAt <= limit) candidates.push(open);
    }
    return { step, candidates, next: 0 };
  }

  /** Undefined: its answer does not match, or nothing new can follow it. */
  #take(candidate: Candidate): Place['step'] {
    const { action, operation } = candidate;
    const { answer } = operation;
    const { state, result } = apply(this.#state, action);
    if (answer && answer.result !== result) return undefined;
    this.#flip(candidate);
    if (this.#isKnown(state)) {
      this.#flip(candidate);
      return undefined;
    }
    const before = this.#state;
    this.#state = state;
    if (!('bit' in candidate)) {
      lift(candidate);
      this.#left -= 1;
    }
    return { taken: candidate, before };
  }

  #isKnown(state: State): boolean {
    const key = `${this.#taken.join()} ${state === null ? '-' : `=${state}`}`;
    const sets = this.#seen.get(key);
    if (sets?.some((set) => (set & this.#takenOpen) === set)) return true;
    if (sets) sets.push(this.#takenOpen);
    else this.#seen.set(key, [this.#takenOpen]);
    return false;
  }

  #giveUp(path: Place[]): void {
    const { step, candidates } = path.at(-1)!;
    if (path.length > this.#longest.length + 1 || this.#stuck.length === 0) {
      this.#longest = path.flatMap((place) => (place.step ? [place.step.taken.operation] : []));
      this.#stuck = candidates.map(({ operation }) => operation);
    }
    path.pop();
    if (!step) return;
    const { taken, before } = step;
    this.#state = before;
    this.#flip(taken);
    if ('bit' in taken) return;
    unlift(taken);
    this.#left += 1;
  }

  #flip(candidate: Candidate): void {
    if ('bit' in candidate) this.#takenOpen ^= candidate.bit;
    else this.#taken[candidate.index >>> 5]! ^= 1 << (candidate.index & 31);
  }
}

type ActionOf = (operation: Operation) => Action;

/** Where keys are only set and deleted, which value a key has does not matter if nobody reads it. */
function actionsOf(operations: readonly Operation[]): ActionOf {
  const read = new Set(operations.flatMap(({ answer }) => (answer ? [answer.result] : [])));
  const isPlain = operations.every(({ action: { kind } }) => kind !== 'append' && kind !== 'incr');
  return ({ action }) => {
    const isUnread = isPlain && action.kind === 'set' && !read.has(action.value);
    return isUnread ? UNREAD : action;
  };
}

const UNREAD: Action = { kind: 'set', value: '\0' };

/** A read without an answer says nothing. */
function openOf(operations: readonly Operation[], actionOf: ActionOf): Open[] {
  const writes = operations.filter(({ action, answer }) => !answer && action.kind !== 'get');
  const twins = new Map<string, Open>();
  return writes
    .sort((a, b) => a.calledAt - b.calledAt)
    .map((operation, index) => {
      const action = actionOf(operation);
      const what = JSON.stringify(action);
      const open: Open = { operation, action, bit: 1n << BigInt(index), twin: twins.get(what) };
      twins.set(what, open);
      return open;
    });
}

function buildList(operations: readonly Operation[], actionOf: ActionOf): Entry {
  const entries: Entry[] = [];
  const links = { previous: undefined, next: undefined };
  operations.forEach((operation, index) => {
    const shared = { operation, action: actionOf(operation), index, ...links };
    const answer = { ...shared, at: operation.answer!.at, answer: undefined };
    entries.push(answer, { ...shared, at: operation.calledAt, answer });
  });
  // At the same instant calls come first: then the two overlap, which allows more orders.
  entries.sort((a, b) => a.at - b.at || Number(Boolean(b.answer)) - Number(Boolean(a.answer)));
  const nothing: Operation = { client: 0, key: '', action: { kind: 'get' }, calledAt: 0, answer: undefined };
  const shared = { operation: nothing, action: nothing.action, ...links };
  const head: Entry = { ...shared, index: -1, at: 0, answer: undefined };
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
  unlink(call.answer!);
}

function unlink({ previous, next }: Entry): void {
  if (previous) previous.next = next;
  if (next) next.previous = previous;
}

/** Reverses `lift`, in the opposite order, so that each entry gets its former neighbours. */
function unlift(call: Entry): void {
  relink(call.answer!);
  relink(call);
}

function relink(entry: Entry): void {
  if (entry.previous) entry.previous.next = entry;
  if (entry.next) entry.next.previous = entry;
}
