import { exploreObjects } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { finishedRecovery } from '../src/coordinator/log-rules.js';
import { CoordinatorModel, RULES, type Rules } from './model/coordinator-model.js';

describe('a coordinator that dies and is started again, in every interleaving', () => {
  it('no step is unsafe, and the end is reachable from every state', { timeout: 240_000 }, () => {
    const { states, unsafe, stuck } = exploreObjects(new CoordinatorModel());
    expect(unsafe, `${unsafe?.reason}: ${unsafe?.trace.join(', ')}`).toBeUndefined();
    expect(stuck, stuck?.join(', ')).toBeUndefined();
    expect(states).toBeGreaterThan(1000);
  });
});

/** Attempts of earlier runs count. */
const ofAnyRun: typeof finishedRecovery = (log, attempt, successors) =>
  finishedRecovery(log, { ...attempt, run: log.recovererRun ?? '' }, successors);

/** The member counts, and not its attempt. */
const ofAnyAttempt: typeof finishedRecovery = (log, attempt, successors) =>
  finishedRecovery(log, { ...attempt, attempt: log.attempt }, successors);

const unsafeRules: [string, Partial<Rules>, RegExp][] = [
  ['an attempt of an earlier run finishes', { finished: ofAnyRun }, /does not have the log/],
  [
    'an attempt before the last one finishes',
    { finished: ofAnyAttempt },
    /does not have the log|has left keys/,
  ],
  ['leases of an earlier run are not waited for', { waitsForFormerLeases: false }, /two members may serve/],
  ['a lease is noted after the record was read', { notesLeaseFirst: false }, /two members may serve/],
  ['what earlier runs left is not dropped', { dropsLeftovers: false }, /has left keys/],
  ['heirs take frames of earlier runs', { refusesFormerTakeovers: false }, /has left keys/],
];

describe('wrong variants are found', () => {
  it.each(unsafeRules)('%s', { timeout: 240_000 }, (_name, rules, reason) => {
    const { unsafe } = exploreObjects(new CoordinatorModel({ ...RULES, ...rules }), { deep: true });
    expect(unsafe?.reason).toMatch(reason);
  });

  it('the numbers of slot tables begin anew', { timeout: 240_000 }, () => {
    const { unsafe, stuck } = exploreObjects(new CoordinatorModel({ ...RULES, keepsNumbers: false }));
    expect(unsafe).toBeUndefined();
    expect(stuck).toBeDefined();
  });
});
