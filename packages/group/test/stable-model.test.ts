import { explore, rounds } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  AsksNoPromise,
  CountsOn,
  IgnoresTrim,
  MinorityGoesOn,
  StableModel,
  type StableSetting,
  TrimsToMaximum,
  TrimsToStable,
} from './model/stable-model.js';

const TIMEOUT = 240_000;

/** Member 0 of 5 has crashed, and member 1 leads. The others have stopped, and have told it and member 2. */
const LED = {
  members: 5,
  messages: 2,
  received: [2, 1, 2, 2, 2],
  crashed: [0],
  mistakes: 1,
} as const;
const WEDGED = [1, 2, 3, 4].map((rank) => `look ${rank}`);
const TOLD = ['write 2 1', 'write 3 1', 'write 4 1', 'write 3 2', 'write 4 2', 'look 1'];
/** Members 3 and 4 accept the trim of member 1. Then member 2 suspects that member, and so do they: member 2 leads. */
const ACCEPTED = ['write 1 3', 'write 1 4', 'look 3', 'look 4', 'suspect 2 1', 'look 2'];
const SECOND = ['write 2 3', 'look 3', 'write 2 4', 'look 4'];
/** Member 2 leads before members 3 and 4 know that, and they accept the trim of member 1. */
const AT_ONCE = ['suspect 2 1', 'look 2', 'write 1 3', 'look 3', 'write 1 4', 'look 4', 'write 2 3'];
const SUCCEEDED = { ...LED, script: [...WEDGED, ...TOLD, ...ACCEPTED, ...SECOND] };
const OVERTAKEN = { ...LED, script: [...WEDGED, ...TOLD, ...AT_ONCE] };

/** Takes random steps to the end. @throws what an unsafe step throws */
function walk(setting: StableSetting, choose: (steps: string[]) => string): void {
  const model = new StableModel(setting);
  const trace: string[] = [];
  for (let steps = model.steps(); steps.length > 0; steps = model.steps()) {
    const step = choose(steps);
    trace.push(step);
    model.take(step);
  }
  expect(model.done(), trace.join(', ')).toBe(true);
}

function expectSafe(setting: StableSetting): void {
  const { states, unsafe, stuck } = explore(new StableModel(setting));
  expect(unsafe, unsafe?.trace.join(', ')).toBeUndefined();
  expect(stuck, stuck?.join(', ')).toBeUndefined();
  expect(states).toBeGreaterThan(50);
}

describe('stable delivery, in every interleaving: no step is unsafe, and the end is reachable from every state', () => {
  it.each<[string, StableSetting]>([
    ['three members, of which one crashes', { members: 3, messages: 2, crashes: 1 }],
    ['three members, of which one is suspected wrongly', { members: 3, messages: 1, mistakes: 1 }],
    ['two members without a quorum', { members: 2, messages: 2, crashes: 1, quorum: 'none' }],
    [
      'the root, and then another member of four, without a quorum',
      { members: 4, messages: 1, received: [1, 0, 1, 1], crashed: [0], crashes: 1, quorum: 'none' },
    ],
  ])('%s', { timeout: TIMEOUT }, (_name, setting) => expectSafe(setting));

  it.skipIf(!process.env.RDMC_TEST_LONG).each<[string, StableSetting]>([
    ['a second leader of five members', SUCCEEDED],
    ['two leaders of five members at once', OVERTAKEN],
  ])('%s: needs RDMC_TEST_LONG=1', { timeout: TIMEOUT }, (_name, setting) => expectSafe(setting));
});

describe('stable delivery of five members, in random interleavings: no step is unsafe, and all members end', () => {
  it.each<[string, StableSetting]>([
    ['two crash', { members: 5, messages: 2, crashes: 2 }],
    ['one crashes, and two are suspected wrongly', { members: 5, messages: 2, crashes: 1, mistakes: 2 }],
    ['a second leader', SUCCEEDED],
    ['two leaders at once', OVERTAKEN],
  ])('%s', { timeout: TIMEOUT }, async (_name, setting) => {
    await rounds(200, (random) => walk(setting, (steps) => random.of(steps)));
  });
});

describe('wrong variants are detected', () => {
  it.each<[string, StableSetting, RegExp]>([
    [
      'a member that does not wedge',
      { members: 3, messages: 1, crashes: 1, countsOn: true, rules: CountsOn },
      /more than|trims/,
    ],
    [
      'the trim is the maximum',
      { members: 3, messages: 1, crashes: 1, rules: TrimsToMaximum },
      /does not have/,
    ],
    [
      'the trim is what the leader knows to be stable',
      { members: 3, messages: 1, crashes: 1, rules: TrimsToStable },
      /more than the/,
    ],
    [
      'a second leader ignores the trim of the first one',
      { ...SUCCEEDED, rules: IgnoresTrim },
      /trims \d and \d/,
    ],
    [
      'a leader does not wait until the others have left the leader in front of it',
      { ...OVERTAKEN, rules: AsksNoPromise },
      /trims \d and \d/,
    ],
    [
      'a minority goes on',
      { members: 3, messages: 2, received: [2, 1, 2], mistakes: 2, rules: MinorityGoesOn },
      /trims \d and \d/,
    ],
    [
      'a count in front of its message',
      { members: 3, messages: 1, crashes: 1, countsFirst: true },
      /does not have/,
    ],
  ])('%s', { timeout: TIMEOUT }, (_name, setting, reason) => {
    expect(explore(new StableModel(setting)).unsafe?.reason).toMatch(reason);
  });
});
