import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Action, Operation, Result } from '../src/checker/history.js';
import { checkRegister } from '../src/checker/linearizable.js';
import { apply, type State } from '../src/checker/register.js';

const set = (value: string): Action => ({ kind: 'set', value });
const append = (value: string): Action => ({ kind: 'append', value });

/** Every order of the operations is tried. */
function hasOrder(operations: readonly Operation[], state: State = null): boolean {
  if (!operations.some(({ answer }) => answer)) return true;
  const firstAnswer = Math.min(...operations.map(({ answer }) => answer?.at ?? Number.POSITIVE_INFINITY));
  return operations.some((operation) => {
    if (operation.calledAt > firstAnswer) return false;
    const { state: after, result } = apply(state, operation.action);
    if (operation.answer && operation.answer.result !== result) return false;
    return hasOrder(
      operations.filter((other) => other !== operation),
      after,
    );
  });
}

it.each([true, false])('the checker has the verdict of a search of all orders (counting: %s)', (counting) => {
  const others: Action[] = counting ? [{ kind: 'incr' }, { kind: 'incr' }] : [set('3'), set('3')];
  const actions = fc.constantFrom<Action>({ kind: 'get' }, { kind: 'del' }, set('1'), set('2'), ...others);
  const results = fc.constantFrom<Result>(null, 'OK', 0, 1, 2, '1', '2');
  const one = fc.record({
    action: actions,
    calledAt: fc.nat(20),
    answer: fc.option(fc.record({ after: fc.nat(8), result: results }), { nil: undefined, freq: 2 }),
  });
  const verdicts = new Set<boolean>();
  fc.assert(
    fc.property(fc.array(one, { maxLength: 7 }), (drawn) => {
      const operations = drawn.map(({ action, calledAt, answer }, client): Operation => {
        // Most answers fit somewhere: a set is always OK.
        const result = answer && (action.kind === 'set' ? 'OK' : answer.result);
        const at = answer && { at: calledAt + answer.after, result: result! };
        return { client, key: 'k', action, calledAt, answer: at };
      });
      const expected = hasOrder(operations);
      verdicts.add(expected);
      expect(checkRegister(operations).ok).toBe(expected);
    }),
    { numRuns: 3000 },
  );
  expect(verdicts).toEqual(new Set([false, true]));
});

/** Few values, some the beginning of others, so that an answer may have several causes. */
const ACTIONS: Record<string, readonly Action[]> = {
  'set and deleted': [
    { kind: 'get' },
    { kind: 'get' },
    { kind: 'del' },
    set(''),
    set('a'),
    set('b'),
    set('c'),
  ],
  'appended to': [
    { kind: 'get' },
    { kind: 'get' },
    { kind: 'del' },
    set('a'),
    set('ab'),
    append('b'),
    append('c'),
  ],
  counted: [{ kind: 'get' }, { kind: 'incr' }, { kind: 'incr' }, { kind: 'del' }, set('1'), set('x')],
};

interface Drawn {
  readonly action: Action;
  readonly before: number;
  readonly after: number;
  readonly fate: 'answered' | 'done' | 'not done';
  /** The answer is that of another operation of this kind. */
  readonly from: number | undefined;
}

/** Operations that a correct register carries out one after the other, and then some wrong answers. */
function history(plan: readonly Drawn[]): Operation[] {
  let state: State = null;
  const correct = plan.map(({ action, before, after, fate }, client): Operation => {
    const instant = client * 3;
    let result: Result = null;
    if (fate !== 'not done') ({ state, result } = apply(state, action));
    const answer = fate === 'answered' ? { at: instant + after, result } : undefined;
    return { client, key: 'k', action, calledAt: instant - before, answer };
  });
  return correct.map((operation, index) => {
    const { from } = plan[index]!;
    const { answer, action } = operation;
    if (!answer || from === undefined) return operation;
    const others = correct.filter((other) => other.answer && other.action.kind === action.kind);
    const { result } = others[from % others.length]!.answer!;
    return { ...operation, answer: { at: answer.at, result } };
  });
}

it.each(Object.entries(ACTIONS))(
  'a key that is %s: the same, where half of the writes have no answer',
  (_, actions) => {
    const one = fc.record<Drawn>({
      action: fc.constantFrom(...actions),
      before: fc.nat(6),
      after: fc.nat(6),
      fate: fc.constantFrom('answered', 'answered', 'done', 'not done'),
      from: fc.option(fc.nat(9), { nil: undefined, freq: 2 }),
    });
    const verdicts = new Set<boolean>();
    fc.assert(
      fc.property(fc.array(one, { minLength: 5, maxLength: 9, size: 'max' }), (plan) => {
        const operations = history(plan);
        const expected = hasOrder(operations);
        verdicts.add(expected);
        expect(checkRegister(operations).ok).toBe(expected);
      }),
      { numRuns: 3000 },
    );
    expect(verdicts).toEqual(new Set([false, true]));
  },
);
