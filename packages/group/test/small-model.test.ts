import { explore } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { SmallModel, type SmallSetting } from './model/small-model.js';

function check(setting: SmallSetting) {
  return explore(new SmallModel(setting));
}

describe('small messages beside blocks, in every interleaving', () => {
  it.each<SmallSetting>([
    { messages: 'sssssss', units: 2 },
    { messages: 'ssLssLs', units: 2 },
    { messages: 'LLsLsss', units: 2, memory: 2 },
    { messages: 'Lssssss', units: 4 },
    { messages: 'sLsLsLs', units: 4, maxBatches: 4 },
  ])('%j: no step is unsafe, and the end is reachable from every state', { timeout: 240_000 }, (setting) => {
    const { states, unsafe, stuck } = check(setting);
    expect(unsafe, unsafe?.trace.join(', ')).toBeUndefined();
    expect(stuck).toBeUndefined();
    expect(states).toBeGreaterThan(500);
  });
});

describe('wrong variants are detected', () => {
  it.each<[string, SmallSetting, RegExp]>([
    [
      'a notice in front of its entries',
      { messages: 'sss', noticeFirst: true },
      /delivered|order|after a later/,
    ],
    [
      'units that are free at arrival',
      { messages: 'ssssss', units: 2, freesAtArrival: true },
      /delivered|after a later/,
    ],
    ['a root that does not count batches', { messages: 'sssss', countsNoBatches: true }, /no receive/],
    ['the order of arrival', { messages: 'sLs', deliversAtArrival: true }, /in place of/],
  ])('%s: unsafe', (_name, setting, reason) => {
    expect(check(setting).unsafe?.reason).toMatch(reason);
  });

  it.each<[string, SmallSetting]>([
    [
      'a message of blocks that needs a unit of the ring',
      { messages: 'Lssssss', units: 2, blocksNeedUnit: true },
    ],
    ['no copies while blocks wait for a small message', { messages: 'ssLs', units: 2, waitsForBlocks: true }],
    ['no ack for units', { messages: 'ssssss', units: 2, acksBatchesOnly: true }],
    ['a sleep without another look', { messages: 'ss', sleepsAtOnce: true }],
  ])('%s: waits for ever', (_name, setting) => {
    const { unsafe, stuck } = check(setting);
    expect(unsafe).toBeUndefined();
    expect(stuck).toBeDefined();
  });
});
