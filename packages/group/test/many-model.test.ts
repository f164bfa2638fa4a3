import { exploreObjects, rounds } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { ByArrival, ManyModel, type ManySetting, SkipsNothing, SkipsTooFew } from './model/many-model.js';
import { CountsOn, TrimsToMaximum } from './model/stable-model.js';

const TIMEOUT = 240_000;

/** Takes random steps to the end. @throws what an unsafe step throws */
function walk(setting: ManySetting, choose: (steps: string[]) => string): void {
  const model = new ManyModel(setting);
  const trace: string[] = [];
  for (let steps = model.steps(); steps.length > 0; steps = model.steps()) {
    const step = choose(steps);
    trace.push(step);
    try {
      model.take(step);
    } catch (error) {
      throw new Error(`${String(error)}: ${trace.join(', ')}`);
    }
  }
  expect(model.done(), trace.join(', ')).toBe(true);
}

describe('a total order of many senders, in every interleaving: no step is unsafe, and the end is reachable', () => {
  it.each<[string, ManySetting]>([
    ['two members, of which one sends', { messages: [0, 2] }],
    ['two members that send', { messages: [2, 1] }],
    ['three members, of which one sends', { messages: [0, 1, 0] }],
  ])('%s', { timeout: TIMEOUT }, (_name, setting) => {
    const { states, unsafe, stuck } = exploreObjects(new ManyModel(setting));
    expect(unsafe, unsafe?.trace.join(', ')).toBeUndefined();
    expect(stuck, stuck?.join(', ')).toBeUndefined();
    expect(states).toBeGreaterThan(20);
  });
});

describe('a total order of many senders, in random interleavings: no step is unsafe, and all members end', () => {
  it.each<[string, ManySetting]>([
    ['three members that send', { messages: [2, 3, 1] }],
    ['three members, of which one crashes', { messages: [2, 2, 2], crashes: 1 }],
    ['three members, of which one is suspected wrongly', { messages: [1, 2, 2], mistakes: 1 }],
    ['five members, of which two crash', { messages: [1, 0, 2, 0, 1], crashes: 2 }],
  ])('%s', { timeout: TIMEOUT }, async (_name, setting) => {
    await rounds(60, (random) => walk(setting, (steps) => random.of(steps)));
  });
});

describe('wrong variants are detected', () => {
  it.each<[string, ManySetting, RegExp]>([
    [
      'a member that does not wedge',
      { messages: [1, 0, 0], crashes: 1, survivors: CountsOn, countsOn: true },
      /were agreed on/,
    ],
    [
      'the trim is the maximum',
      { messages: [1, 0, 0], crashes: 1, survivors: TrimsToMaximum },
      /does not have/,
    ],
    ['a skipped number counts as a message', { messages: [0, 1], deliversSkipped: true }, /skipped number/],
    ['the order of arrival', { messages: [1, 1], order: ByArrival }, /in place of/],
  ])('%s: unsafe', { timeout: TIMEOUT }, (_name, setting, reason) => {
    expect(exploreObjects(new ManyModel(setting)).unsafe?.reason).toMatch(reason);
  });

  it.each<[string, ManySetting]>([
    ['an idle member skips nothing', { messages: [0, 1], order: SkipsNothing }],
    ['an idle member skips too few numbers', { messages: [0, 1], order: SkipsTooFew }],
  ])('%s: waits for ever', { timeout: TIMEOUT }, (_name, setting) => {
    const { unsafe, stuck } = exploreObjects(new ManyModel(setting));
    expect(unsafe).toBeUndefined();
    expect(stuck).toBeDefined();
  });
});
