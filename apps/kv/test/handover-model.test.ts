import { exploreObjects } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { HAND_OVER_RULES, HandOverModel, type HandOverRules } from './model/handover-model.js';

describe('hand-overs of a slot, with every failure, in every interleaving', () => {
  it('no step is unsafe, and the end is reachable from every state', { timeout: 240_000 }, () => {
    const { states, unsafe, stuck } = exploreObjects(new HandOverModel());
    expect(unsafe, `${unsafe?.reason}: ${unsafe?.trace.join(', ')}`).toBeUndefined();
    expect(stuck, stuck?.join(', ')).toBeUndefined();
    expect(states).toBeGreaterThan(1000);
  });
});

const unsafeRules: [string, Partial<HandOverRules>, RegExp][] = [
  [
    'the log of a former owner is replayed',
    { isReplayed: ({ floor }, _, version) => version > floor },
    /answers|a recovery finds/,
  ],
  [
    'entries of an earlier tenure are replayed where the slot came back',
    { isReplayed: ({ logId }, recovered) => logId === recovered },
    /a recovery finds/,
  ],
  ['the floor is below what the target had', { floor: () => 0 }, /a recovery finds/],
  ['a source resumes by itself', { resumesByItself: true }, /two servers|answers|a recovery finds/],
  [
    'a commit does not compare epochs',
    { replaced: (_, { next }) => next },
    /two servers|answers|a recovery finds/,
  ],
  [
    'a hand-over is given up without a new epoch',
    { renewed: (present) => present },
    /two|answers|a recovery/,
  ],
  ['a target forgets what is whole', { forgetsWhole: true }, /answers/],
  ['a source does not wait for its appends', { waitsForAppends: false }, /answers|a recovery finds/],
  ['a target keeps what it had of the slot', { forgetsBefore: false }, /answers|a recovery finds/],
  [
    'the target of a hand-over that nobody knows any more is not told',
    { dropsUnknown: false },
    /nobody tells/,
  ],
  ['a takeover does not end a hand-over of the slot', { endsByTakeover: false }, /answers/],
  ['a target takes a hand-over that is older than a takeover of the slot', { takesLate: true }, /answers/],
];

describe('wrong variants are found', () => {
  it.each(unsafeRules)('%s', { timeout: 240_000 }, (_name, rules, reason) => {
    const { unsafe } = exploreObjects(new HandOverModel({ ...HAND_OVER_RULES, ...rules }), { deep: true });
    expect(unsafe?.reason).toMatch(reason);
  });

  it('a commit gives slots to a dead log', { timeout: 240_000 }, () => {
    const { unsafe, stuck } = exploreObjects(
      new HandOverModel({ ...HAND_OVER_RULES, refusesDeadLogs: false }),
    );
    expect(unsafe).toBeUndefined();
    expect(stuck).toBeDefined();
  });
});
