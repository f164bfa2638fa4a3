import { describe, expect, it } from 'vitest';
import { createControl } from '../src/control.js';
import { addCounters, Counter, CounterBlock, readCounters } from '../src/counters.js';

describe('counters', () => {
  it('reads what the worker counted, named counters included', () => {
    const control = createControl();
    const block = new CounterBlock(control);
    block.values[Counter.completions]! += 7;
    block.values[Counter.pollingMicroseconds]! += 0.5;
    const blocks = block.named('group.blöcke');
    blocks.add(2 ** 40);
    blocks.add(1);
    block.named('group.blöcke').add(1);
    block.named('group.messages');
    const counters = readCounters(control);
    expect(counters).toMatchObject({
      completions: 7,
      pollingMicroseconds: 0.5,
      sleeps: 0,
      commandRingBytes: 0,
    });
    expect(counters.named).toEqual({ 'group.blöcke': 2 ** 40 + 2, 'group.messages': 0 });
  });

  it('adds the readings of different threads', () => {
    const readings = [3, 4].map((completions) => {
      const control = createControl();
      const block = new CounterBlock(control);
      block.values[Counter.completions]! += completions;
      block.named('in.both').add(completions);
      block.named(`only.${completions}`).add(1);
      return readCounters(control);
    });
    expect(addCounters(...readings)).toMatchObject({
      completions: 7,
      polls: 0,
      named: { 'in.both': 7, 'only.3': 1, 'only.4': 1 },
    });
  });

  it('refuses a counter too many, and a name too long', () => {
    const block = new CounterBlock(createControl());
    for (let i = 0; i < 64; i += 1) block.named(`p.${i}`).add(i);
    expect(() => block.named('p.64')).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_TOO_MANY_COUNTERS' }),
    );
    expect(() => block.named('ü'.repeat(27))).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION' }),
    );
  });

  it.each([
    ['another size', () => new SharedArrayBuffer(64)],
    ['no magic', () => new SharedArrayBuffer(createControl().byteLength)],
    ['no shared memory', () => new ArrayBuffer(8) as unknown as SharedArrayBuffer],
  ])('refuses a buffer with %s', (_, make) => {
    expect(() => readCounters(make())).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_INVALID_COUNTERS' }),
    );
  });
});
