/*
 * Linearizability of one register (Wing and Gong, 1993), with Lowe's cache of visited states (2017): is there an order
 * of all operations, each between its call and its answer, that gives every answer when they run one after the other?
 *
 * Calls and answers are in one list by time. The search takes an operation whose call is before the first remaining
 * answer, applies it, and removes call and answer from the list; where none can be taken, it backtracks.
 *
 * Operations without an answer ("open") may be taken at any time after their call, or never: the search ends when all answered
 * operations are taken. A few dozen of them would make millions of sets of those that were taken. So the search leaves out
 * orders. None of that changes the verdict: if a place has any valid continuation, then the search still finds one.
 *
 * 1. An answered operation that changes nothing in any valid order (a read; a deletion that found nothing) and whose answer
 *    fits now is taken now, and nothing else is tried. Proof: move it to the front of a valid continuation. It may be there,
 *    because it was called before the first remaining answer; the others have the same states as before.
 * 2. Consider a valid continuation with the fewest open operations. Removing any of them makes it invalid. Therefore each
 *    one changes the state, and the next one is not an overwrite: after an overwrite the state is the same without it. None
 *    is the last. So each is in a run of open operations, in which only the first may be an overwrite, and an answered operation
 *    follows that depends on the state. It was called before the first remaining answer, because only answers end a call. An open
 *    operation is tried only if the run can serve such an operation: only appends follow, so the value must be a beginning of the
 *    value that is read, and not longer than an append's answer allows. A deletion needs a run of at most one, and only
 *    if the key's existence before the run does not fit: afterwards the key does not exist in either case.
 *    Step 1 does not add an open operation, so the continuation after it still has the fewest.
 * 3. Of open operations of the same kind (`Values.kindOf`) only the one that was called first is tried. Proof: exchange the two in
 *    a valid continuation, or replace one with the other. Kinds are equal only if no remaining read's answer contains either
 *    text, so no read sees the difference, and the lengths are the same where an append's answer depends on them.
 * 4. A place is not visited again that was reached with the same answered operations, a state of the same kind, and a part of the
 *    open operations: what follows here could follow there. In the midst of a run 2 leaves out overwrites, and runs before
 *    deletions; but these could also follow the place before that run, with the same answered and fewer open operations.
 *
 * Open operations are tried last.
 */
import { type Entry, lift, listOfCalls, unlift } from './calls.js';
import type { Operation } from './history.js';
import { apply, type State } from './register.js';
import { Values } from './values.js';

export type Verdict =
  | { readonly ok: true }
  /** `after`: the longest valid order; none of `stuck` can follow it. */
  | { readonly ok: false; readonly after: readonly Operation[]; readonly stuck: readonly Operation[] }
  | { readonly ok: undefined; readonly reason: string };

/** An operation without an answer. */
interface Open {
  readonly operation: Operation;
  /** Its bit in the set of those that were taken. */
  readonly bit: bigint;
}

type Candidate = Entry | Open;

/** A place of the search: how it was reached, and what can be tried there. */
interface Place {
  readonly step: { readonly taken: Candidate; readonly before: State } | undefined;
  readonly candidates: readonly Candidate[];
  next: number;
}

/** Limit of steps; a history with few concurrent calls needs far fewer. */
const MAX_STEPS = 5_000_000;

/** @param operations all operations of one key, in any order */
export function checkRegister(operations: readonly Operation[], initial: State = null): Verdict {
  return new Search(operations, initial).run();
}

class Search {
  readonly #head: Entry;
  readonly #open: readonly Open[];
  readonly #values: Values;
  /** Answered operations. */
  readonly #taken: Uint32Array;
  #left: number;
  #takenOpen = 0n;
  #state: State;
  /** By answered operations and state, the sets of operations without an answer with which it was reached. */
  readonly #seen = new Map<string, bigint[]>();
  /** A number for each kind of state. */
  readonly #numbers = new Map<string, number>();
  #longest: { readonly left: number; readonly after: Operation[]; readonly stuck: Operation[] };

  constructor(operations: readonly Operation[], initial: State) {
    const answered = operations.filter(({ answer }) => answer);
    this.#head = listOfCalls(answered);
    this.#open = openOf(operations);
    this.#taken = new Uint32Array(Math.ceil(answered.length / 32));
    const isTaken = (index: number): boolean => (this.#taken[index >>> 5]! & (1 << (index & 31))) !== 0;
    this.#values = new Values(operations, answered, isTaken);
    this.#left = answered.length;
    this.#state = initial;
    this.#longest = { left: answered.length + 1, after: [], stuck: [] };
  }

  run(): Verdict {
    const path: Place[] = [this.#place(undefined)];
    for (let count = 0; this.#left > 0; count += 1) {
      if (count > MAX_STEPS) return { ok: undefined, reason: `no verdict after ${MAX_STEPS} steps` };
      const place = path.at(-1);
      if (!place) return { ok: false, ...this.#longest };
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
    const calls: Entry[] = [];
    let entry = this.#head.next;
    for (; entry?.answer; entry = entry.next) calls.push(entry);
    const read = calls.find(({ operation }) => isRead(operation, this.#state));
    if (read) return { step, candidates: [read], next: 0 };
    const isRun = step !== undefined && 'bit' in step.taken;
    const limit = entry?.at ?? Number.POSITIVE_INFINITY;
    const answered = isRun ? calls.filter(({ operation }) => !isOverwrite(operation)) : calls;
    return { step, candidates: [...answered, ...this.#openTo(calls, limit, isRun)], next: 0 };
  }

  /** The operations without an answer that an answer of one of these calls may need before it. */
  #openTo(calls: readonly Entry[], limit: number, isRun: boolean): Open[] {
    const kinds = new Set<string>();
    return this.#open.filter(({ operation, bit }) => {
      if ((this.#takenOpen & bit) !== 0n || operation.calledAt > limit) return false;
      if (isRun && isOverwrite(operation)) return false;
      const kind = this.#values.kindOf(operation.action);
      if (kinds.has(kind)) return false;
      kinds.add(kind);
      const { state } = apply(this.#state, operation.action);
      if (state === this.#state) return false;
      return calls.some((call) => this.#values.canServe(call.operation, state, this.#state, isRun));
    });
  }

  /** Undefined: its answer does not match, or nothing new can follow it. */
  #take(candidate: Candidate): Place['step'] {
    const { action, answer } = candidate.operation;
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
    const key = this.#keyOf(state);
    const sets = this.#seen.get(key);
    if (sets?.some((set) => (set & this.#takenOpen) === set)) return true;
    if (sets) sets.push(this.#takenOpen);
    else this.#seen.set(key, [this.#takenOpen]);
    return false;
  }

  /** The answered operations that were taken, 16 in a character, and the number of the state's kind. */
  #keyOf(state: State): string {
    const kind = this.#values.kindOfState(state);
    const number = this.#numbers.get(kind) ?? this.#numbers.size;
    this.#numbers.set(kind, number);
    return String.fromCharCode(...new Uint16Array(this.#taken.buffer)) + number;
  }

  #giveUp(path: Place[]): void {
    const { step, candidates } = path.at(-1)!;
    const longest = this.#longest;
    if (this.#left < longest.left || (this.#left === longest.left && path.length <= longest.after.length)) {
      const after = path.flatMap((place) => (place.step ? [place.step.taken.operation] : []));
      this.#longest = { left: this.#left, after, stuck: candidates.map(({ operation }) => operation) };
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

/** Whether it is an answered operation that changes nothing wherever it is, and that could be next. */
function isRead({ action, answer }: Operation, state: State): boolean {
  if (action.kind === 'get') return answer?.result === state;
  return action.kind === 'del' && answer?.result === 0 && state === null;
}

/** Whether neither the value after it nor its answer, if it has one, depends on the value before. */
function isOverwrite({ action, answer }: Operation): boolean {
  return action.kind === 'set' || (action.kind === 'del' && !answer);
}

/** By the times of their calls. A read without an answer says nothing. */
function openOf(operations: readonly Operation[]): Open[] {
  return operations
    .filter(({ action, answer }) => !answer && action.kind !== 'get')
    .sort((a, b) => a.calledAt - b.calledAt)
    .map((operation, index) => ({ operation, bit: 1n << BigInt(index) }));
}
