import { explore } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { TreeModel, type TreeSetting } from './model/tree-model.js';

function check(setting: TreeSetting) {
  return explore(new TreeModel(setting));
}

describe('small messages through a relay, in every interleaving', () => {
  it.each<TreeSetting>([
    { messages: 5, units: 2 },
    { messages: 4, units: 2, maxBatches: 4 },
    { messages: 3, units: 4 },
    { messages: 3, units: 1, full: 2 },
  ])('%j: no step is unsafe, and the end is reachable from every state', { timeout: 240_000 }, (setting) => {
    const { states, unsafe, stuck } = check(setting);
    expect(unsafe, unsafe?.trace.join(', ')).toBeUndefined();
    expect(stuck).toBeUndefined();
    expect(states).toBeGreaterThan(500);
  });
});

describe('wrong variants of relays are detected', () => {
  it.each<[string, TreeSetting]>([
    ['entries that are free before the children have them', { messages: 5, forgetsChildren: true }],
    [
      'entries that are free before the application has copied them',
      { messages: 5, forgetsApplication: true },
    ],
    ['a relay that does not tell where the full ring begins', { messages: 4, full: 4, growsSilently: true }],
    ['a batch in both rings', { messages: 4, full: 4, postsAcross: true }],
    ['a receiver that reads from the full ring at once', { messages: 4, full: 4, readsFullAtOnce: true }],
  ])('%s: unsafe', (_name, setting) => {
    expect(check(setting).unsafe?.reason).toMatch(/in place of|into a ring/);
  });

  it.each<[string, TreeSetting]>([
    ['an ack of a child that does not lead to one', { messages: 5, sleepsThroughAcks: true }],
    [
      'a relay that confirms, and leaves, before its child has everything',
      { messages: 3, confirmsEarly: true },
    ],
  ])('%s: waits for ever', (_name, setting) => {
    const { unsafe, stuck } = check(setting);
    expect(unsafe).toBeUndefined();
    expect(stuck).toBeDefined();
  });
});
