import { describe, expect, it } from 'vitest';
import { chooseRelay } from '../src/relay-choice.js';

const FACTS = { members: 3, executesWaits: true, sharesMemory: false };

describe('who relays', () => {
  it.each([
    ['over a network', {}, undefined, 'device', 'does not wait'],
    ['between two members', { members: 2 }, undefined, 'worker', 'nobody'],
    ['over shared memory', { sharesMemory: true }, undefined, 'worker', 'share memory'],
    ['on a device that cannot', { executesWaits: false }, undefined, 'worker', 'requests that wait'],
    ['what was asked for', { sharesMemory: true }, 'device', 'device', 'asked for'],
    ['what was asked for, also where it is slower', {}, 'worker', 'worker', 'asked for'],
  ] as const)('%s', (_, facts, wish, relay, reason) => {
    const choice = chooseRelay({ ...FACTS, ...facts }, wish);
    expect(choice).toEqual({ relay, relayReason: expect.stringContaining(reason) });
  });
});
