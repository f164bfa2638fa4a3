import { exploreObjects } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { MixedAttempts, ParallelRecoveryModel, RULES, type Rules } from './model/parallel-recovery-model.js';

describe('heirs that pull their parts of a log, in every interleaving', () => {
  it('no step is unsafe, and the end is reachable from every state', { timeout: 240_000 }, () => {
    const { states, unsafe, stuck } = exploreObjects(new ParallelRecoveryModel());
    expect(unsafe, `${unsafe?.reason}: ${unsafe?.trace.join(', ')}`).toBeUndefined();
    expect(stuck, stuck?.join(', ')).toBeUndefined();
    expect(states).toBeGreaterThan(1000);
  });
});

/** As long as the plan, or longer. */
const atLeast: Rules['has'] = ({ byteLength }, { status, offset }) => status === 'ok' && offset >= byteLength;

const unsafeRules: [string, Partial<Rules>, RegExp][] = [
  ['an heir has its part before all segments arrived', { waitsForAll: false }, /is lost/],
  [
    'a backup serves heirs of whatever attempt',
    { attempts: () => new MixedAttempts() },
    /of another part|is lost/,
  ],
  ['an heir counts what arrives for another attempt', { countsOwnAttempt: false }, /of another part|is lost/],
  ['a backup serves a damaged replica', { has: () => true }, /is lost/],
  [
    'a backup that did not answer is asked, and serves a longer replica than the plan',
    { asksAnswered: false, has: atLeast },
    /half applied/,
  ],
];

describe('wrong variants are found', () => {
  it.each(unsafeRules)('%s', { timeout: 240_000 }, (_name, rules, reason) => {
    const { unsafe } = exploreObjects(new ParallelRecoveryModel({ ...RULES, ...rules }, 0), { deep: true });
    expect(unsafe?.reason).toMatch(reason);
  });
});
