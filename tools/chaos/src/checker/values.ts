import type { Action, Operation } from './history.js';
import type { State } from './register.js';

/** Which values of a register can still be seen in answers of reads, and when two of them are the same to all that remains. */
export class Values {
  /** An increment's answer depends on the text of a value; without one, only reads depend on it. */
  readonly #isOpaque: boolean;
  /** An append's answer is a length; without one, only reads and deletions depend on a value. */
  readonly #hasLength: boolean;
  /** Texts that reads returned, each with the reads' places among the answered operations. */
  readonly #reads = new Map<string, number[]>();
  readonly #isTaken: (index: number) => boolean;
  readonly #containing = new Map<string, readonly number[]>();
  readonly #beginning = new Map<string, readonly number[]>();

  /** @param isTaken whether the search has taken the answered operation with this place */
  constructor(
    operations: readonly Operation[],
    answered: readonly Operation[],
    isTaken: (index: number) => boolean,
  ) {
    const has = (kind: Action['kind']): boolean => operations.some(({ action }) => action.kind === kind);
    this.#isOpaque = !has('incr');
    this.#hasLength = has('append');
    this.#isTaken = isTaken;
    answered.forEach(({ action, answer }, index) => {
      const result = answer?.result;
      if (action.kind !== 'get' || typeof result !== 'string') return;
      const same = this.#reads.get(result);
      if (same) same.push(index);
      else this.#reads.set(result, [index]);
    });
  }

  /**
   * The kind of a write. Writes are of the same kind if they do the same to all that remains: no remaining read returned a text
   * that contains their values, and where an append's answer is a length, the values have the same length.
   */
  kindOf(action: Action): string {
    if (!('value' in action)) return action.kind;
    const isSeen = !this.#isOpaque || this.#hasLeft(action.value, this.#containing, includes);
    return isSeen ? `${action.kind} =${action.value}` : `${action.kind} ${this.#length(action.value)}`;
  }

  /** The same for a value of the register: a read's text begins with it, because only appends leave it there. */
  kindOfState(state: State): string {
    if (state === null) return '-';
    const isSeen = !this.#isOpaque || this.#hasLeft(state, this.#beginning, startsWith);
    return isSeen ? `=${state}` : this.#length(state);
  }

  /**
   * Whether this answered operation may need one without an answer before it, which makes `after` of `before`. Further
   * appends or increments without an answer may come between.
   *
   * @param isRun whether an operation without an answer came directly before
   */
  canServe({ action, answer }: Operation, after: State, before: State, isRun: boolean): boolean {
    const result = answer!.result;
    if (action.kind === 'set') return false;
    if (action.kind === 'del') return !isRun && (result === 0 ? after === null : before === null);
    if (!this.#isOpaque) return true;
    if (action.kind === 'append') return (after?.length ?? 0) + action.value.length <= Number(result);
    return typeof result === 'string' ? result.startsWith(after ?? '') : after === null;
  }

  #length(value: string): string {
    return this.#hasLength ? String(value.length) : '';
  }

  #hasLeft(
    text: string,
    cache: Map<string, readonly number[]>,
    holds: (result: string, text: string) => boolean,
  ): boolean {
    let reads = cache.get(text);
    if (!reads) {
      reads = [...this.#reads].flatMap(([result, indices]) => (holds(result, text) ? indices : []));
      cache.set(text, reads);
    }
    return reads.some((index) => !this.#isTaken(index));
  }
}

const includes = (result: string, text: string): boolean => result.includes(text);
const startsWith = (result: string, text: string): boolean => result.startsWith(text);
