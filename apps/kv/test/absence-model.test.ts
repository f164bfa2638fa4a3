import { exploreObjects } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { isGone } from '../src/cluster/absences.js';
import { ABSENCE_RULES, AbsenceModel, type AbsenceRules } from './model/absence-model.js';

describe('a coordinator that is stopped or cut off, in every interleaving', () => {
  it('no server is taken over that another one reaches', { timeout: 240_000 }, () => {
    const { states, unsafe } = exploreObjects(new AbsenceModel());
    expect(unsafe, `${unsafe?.reason}: ${unsafe?.trace.join(', ')}`).toBeUndefined();
    expect(states).toBeGreaterThan(1000);
  });
});

const unsafeRules: [string, Partial<AbsenceRules>][] = [
  ['the coordinator decides alone', { isGone: (isReachedHere) => !isReachedHere }],
  ['one server is enough', { isGone: (_, all) => all.some((each) => each === false) }],
  [
    'no answer counts as one',
    {
      isGone: (isReachedHere, all) =>
        isGone(
          isReachedHere,
          all.map((each) => each ?? false),
        ),
    },
  ],
  ['the smaller part of the network decides', { isMinority: () => false }],
  ['servers that may be back are not waited for', { waitsForExpected: false }],
  ['answers from before the stop count', { asksAgain: false }],
];

describe('wrong variants are found', () => {
  it.each(unsafeRules)('%s', { timeout: 240_000 }, (_name, rules) => {
    const { unsafe } = exploreObjects(new AbsenceModel({ ...ABSENCE_RULES, ...rules }), { deep: true });
    expect(unsafe?.reason).toMatch(/another one reaches/);
  });
});
