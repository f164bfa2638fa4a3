import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { check } from '../src/checker/check.js';
import type { Action, Operation, Result } from '../src/checker/history.js';
import { checkRegister } from '../src/checker/linearizable.js';
import { apply, type State } from '../src/checker/register.js';

/** One operation of a generated history: its action, the times around its instant, and whether it is answered. */
interface Drawn {
  readonly action: Action;
  readonly before: number;
  readonly after: number;
  readonly fate: 'answered' | 'done, no answer' | 'not done, no answer';
}

const SPACE = 100;

function action(value: number): fc.Arbitrary<Action> {
  return fc.constantFrom<Action>(
    { kind: 'get' },
    { kind: 'set', value: `value ${value}` },
    { kind: 'del' },
    { kind: 'append', value: `+${value}` },
  );
}

function drawn(numeric: boolean, unanswered: boolean): fc.Arbitrary<Drawn[]> {
  const one = fc.nat(1_000_000).chain((value) =>
    fc.record({
      action: numeric
        ? fc.constantFrom<Action>({ kind: 'get' }, { kind: 'incr' }, { kind: 'del' })
        : action(value),
      before: fc.integer({ min: 0, max: 6 * SPACE }),
      after: fc.integer({ min: 0, max: 6 * SPACE }),
      fate: unanswered
        ? fc.constantFrom<Drawn['fate']>(
            'answered',
            'answered',
            'answered',
            'done, no answer',
            'not done, no answer',
          )
        : fc.constant<Drawn['fate']>('answered'),
    }),
  );
  return fc.array(one, { maxLength: 40 });
}

/** The operations happen one after the other, each at an instant between its call and its answer. */
function carryOut(plan: readonly Drawn[]): { operations: Operation[]; state: State; end: number } {
  let state: State = null;
  const operations = plan.map(({ action, before, after, fate }, index): Operation => {
    const instant = (index + 1) * SPACE + 6 * SPACE;
    let result: Result = null;
    if (fate !== 'not done, no answer') ({ state, result } = apply(state, action));
    const answer = fate === 'answered' ? { at: instant + after + 0.5, result } : undefined;
    return { client: index, key: 'k', action, calledAt: instant - before, answer };
  });
  return { operations, state, end: (plan.length + 20) * SPACE };
}

/** Operations after the answers of all others. */
function tail(end: number, ...steps: [Action, Result][]): Operation[] {
  return steps.map(([action, result], index) => {
    const calledAt = end + index * 10;
    return { client: 1000, key: 'k', action, calledAt, answer: { at: calledAt + 5, result } };
  });
}

const GET: Action = { kind: 'get' };
const set = (value: string): Action => ({ kind: 'set', value });

function isRefused(operations: readonly Operation[]): boolean {
  return checkRegister(operations).ok === false && check(operations).length === 1;
}

describe('the checker accepts', () => {
  it.each([false, true])('every history of a correct register (counting: %s)', (numeric) => {
    fc.assert(
      fc.property(drawn(numeric, true), fc.integer(), (plan, seed) => {
        const { operations } = carryOut(plan);
        const shuffled = [...operations].sort(
          (a, b) => ((a.client * 7919 + seed) % 101) - ((b.client * 7919 + seed) % 101),
        );
        expect(checkRegister(shuffled)).toEqual({ ok: true });
      }),
      { numRuns: 400 },
    );
  });

  it('a history of a thousand operations of twenty clients at once', () => {
    const plan = Array.from({ length: 1000 }, (_, index): Drawn => {
      const actions: Action[] = [
        GET,
        set(`v${index}`),
        { kind: 'append', value: `+${index}` },
        { kind: 'del' },
      ];
      const fate = index % 50 === 7 ? 'done, no answer' : 'answered';
      return { action: actions[index % 4]!, before: (index * 31) % 900, after: (index * 17) % 900, fate };
    });
    expect(checkRegister(carryOut(plan).operations)).toEqual({ ok: true });
  });
});

it('many writes without an answer do not keep the checker from a verdict', () => {
  const open = Array.from({ length: 30 }, (_, client): Operation => {
    const action: Action = client % 3 === 0 ? { kind: 'del' } : set(`?${client}`);
    return { client, key: 'k', action, calledAt: client, answer: undefined };
  });
  const answered = Array.from({ length: 100 }, (_, index) => {
    return tail(100 + index * 100, [set(`v${index}`), 'OK'], [GET, `v${index}`], [{ kind: 'del' }, 1]);
  }).flat();
  expect(checkRegister([...open, ...answered]).ok).toBe(true);
  const lost = tail(20_000, [set('the lost one'), 'OK'], [GET, 'never written']);
  expect(checkRegister([...open, ...answered, ...lost]).ok).toBe(false);
});

it('nor do they where values are appended to', () => {
  const open = Array.from({ length: 30 }, (_, client): Operation => {
    const actions: Action[] = [
      { kind: 'append', value: `+${client + 10}` },
      set(`?${client}`),
      { kind: 'del' },
    ];
    return { client, key: 'k', action: actions[client % 3]!, calledAt: client, answer: undefined };
  });
  const answered = Array.from({ length: 100 }, (_, index) => {
    const piece: Action = { kind: 'append', value: '-end' };
    const value = `v${index}`;
    return tail(100 + index * 100, [set(value), 'OK'], [piece, value.length + 4], [GET, `${value}-end`]);
  }).flat();
  // One of the open ones came between, and can come only once.
  const seen = tail(20_000, [set('new'), 'OK'], [{ kind: 'append', value: '-end' }, 10], [GET, 'new+13-end']);
  expect(checkRegister([...open, ...answered, ...seen]).ok).toBe(true);
  const again = tail(30_000, [set('newer'), 'OK'], [GET, 'newer+13']);
  expect(checkRegister([...open, ...answered, ...seen, ...again]).ok).toBe(false);
});

describe('the checker finds', () => {
  const plans = drawn(false, true);
  const always = (holds: (plan: Drawn[]) => boolean, from = plans): void =>
    fc.assert(fc.property(from, holds), { numRuns: 200 });

  it('an acknowledged write that is lost', () => {
    always((plan) => {
      const { operations, state, end } = carryOut(plan.filter(({ fate }) => fate === 'answered'));
      return isRefused([...operations, ...tail(end, [set('the lost one'), 'OK'], [GET, state])]);
    });
  });

  it('a stale read', () => {
    always((plan) => {
      const { operations, end } = carryOut(plan);
      const steps = tail(end, [set('old'), 'OK'], [set('new'), 'OK'], [GET, 'new'], [GET, 'old']);
      return isRefused([...operations, ...steps]);
    });
  });

  it('a read of the older value after the newer one, while both writes are unanswered', () => {
    const open: Operation[] = ['a', 'b'].map((value, client) => {
      return { client, key: 'k', action: set(value), calledAt: client, answer: undefined };
    });
    expect(checkRegister([...open, ...tail(10, [GET, 'a'], [GET, 'b'])])).toEqual({ ok: true });
    expect(checkRegister([...open, ...tail(10, [GET, 'a'], [GET, 'b'], [GET, 'a'])]).ok).toBe(false);
  });

  it('a torn value', () => {
    always((plan) => {
      const { operations, end } = carryOut(plan);
      const steps = tail(end, [set('a value as a whole'), 'OK'], [GET, 'a value as']);
      return isRefused([...operations, ...steps]);
    });
  });

  it('an increment that counted twice, and one that did not count', () => {
    const counting = drawn(true, true).map((plan) => plan.filter(({ fate }) => fate === 'answered'));
    for (const wrong of [0, 2]) {
      always((plan) => {
        const { operations, state, end } = carryOut(plan);
        const count = Number(state ?? 0);
        const steps = tail(end, [{ kind: 'incr' }, count + 1], [GET, String(count + wrong)]);
        return isRefused([...operations, ...steps]);
      }, counting);
    }
  });

  it('an appended piece that is there twice', () => {
    always((plan) => {
      const { operations, end } = carryOut(plan);
      const append: Action = { kind: 'append', value: '-twice' };
      const steps = tail(end, [set('once'), 'OK'], [append, 10], [GET, 'once-twice-twice']);
      return isRefused([...operations, ...steps]);
    });
  });

  it('any single answer that was changed', () => {
    fc.assert(
      fc.property(drawn(false, false), fc.nat(), (plan, nth) => {
        const { operations } = carryOut(plan);
        const reads = operations.filter(({ action: { kind } }) => kind === 'get');
        fc.pre(reads.length > 0);
        const chosen = reads[nth % reads.length]!;
        const changed = { ...chosen, answer: { ...chosen.answer!, result: 'never written' } };
        return isRefused(operations.map((operation) => (operation === chosen ? changed : operation)));
      }),
    );
  });

  it('keys that were written together and are only in part there', () => {
    const written = { keys: ['a', 'b'], values: ['1', '2'], acknowledged: false };
    const last = (a: string | null, b: string | null) =>
      new Map([
        ['a', a],
        ['b', b],
      ]);
    expect(check([], [written], last('1', '2'))).toEqual([]);
    expect(check([], [written], last(null, null))).toEqual([]);
    expect(check([], [written], last('1', null))).toHaveLength(1);
    expect(check([], [{ ...written, acknowledged: true }], last('1', '2'))).toEqual([]);
    expect(check([], [{ ...written, acknowledged: true }], last(null, null))).toHaveLength(1);
  });

  it('and describes the violation', () => {
    const [violation] = check(tail(0, [set('x'), 'OK'], [GET, 'y']));
    expect(violation!.message).toContain('no request wrote: client 1000: get k at 10 → y at 15');
    const [second] = check(tail(0, [set('x'), 'OK'], [set('y'), 'OK'], [GET, 'x']));
    expect(second!.message).toContain(
      'none of these operations can follow:\n    client 1000: get k at 20 → x at 25',
    );
  });
});
