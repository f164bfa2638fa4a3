import { describe, expect, it } from 'vitest';
import { idealCluster, simulate, simulateObjects, simulationBytes } from '../src/index.js';

const MIB = 2 ** 20;
/** 1 MiB takes 1000 µs. */
const IDEAL = idealCluster(MIB / 125_000);
const OBJECTS = [
  { members: [0, 1, 2], byteLength: 4 * MIB },
  { members: [0, 3, 4], byteLength: MIB },
  { members: [0, 1, 2], byteLength: 2 * MIB },
];

describe('objects', () => {
  it('are sent one after the other, each to its own members', () => {
    const { messages, transfers, microseconds } = simulateObjects({
      cluster: IDEAL,
      nodes: 5,
      algorithm: 'chain',
      windows: 'single',
      objects: OBJECTS,
    });
    // A chain of three members takes k + 1 blocks of time.
    expect(
      messages.map(({ group, byteLength, sentAt, completeAt }) => [group, byteLength, sentAt, completeAt]),
    ).toEqual([
      [0, 4 * MIB, 0, 5000],
      [0, 2 * MIB, 7000, 10_000],
      [1, MIB, 5000, 7000],
    ]);
    expect(transfers).toBe(2 * 7);
    expect(microseconds).toBe(10_000);
  });

  it('share the links if several are under way', () => {
    const load = {
      cluster: IDEAL,
      nodes: 5,
      algorithm: 'chain',
      windows: 'single',
      objects: OBJECTS,
    } as const;
    const { messages, microseconds } = simulateObjects({ ...load, inFlight: 3 });
    expect(messages.map(({ sentAt }) => sentAt)).toEqual([0, 0, 0]);
    // 7 MiB leave the root; the last block of all takes one more hop.
    expect(microseconds).toBeGreaterThanOrEqual(7000);
    expect(microseconds).toBeLessThan(simulateObjects(load).microseconds);
  });

  it('of one group and one length are the messages of `simulate`', () => {
    const common = { cluster: 'fractus', nodes: 4, windows: 'paper' } as const;
    const objects = [1, 2, 3].map(() => ({ members: [0, 1, 2, 3], byteLength: 5 * MIB }));
    const { messages } = simulate({ ...common, byteLength: 5 * MIB, messages: 3 });
    expect(simulateObjects({ ...common, objects }).messages).toEqual(messages);
  });

  it.each([
    ['no object', []],
    ['a member twice', [{ members: [0, 0], byteLength: 1 }]],
    ['a root alone', [{ members: [0], byteLength: 1 }]],
    ['a node that does not exist', [{ members: [0, 5], byteLength: 1 }]],
    ['a negative length', [{ members: [0, 1], byteLength: -1 }]],
  ])('%s is refused', (_, objects) => {
    expect(() => simulateObjects({ cluster: IDEAL, nodes: 5, objects })).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION' }),
    );
  });

  it('do not take the options of `simulate` that say what is sent', () => {
    expect(() =>
      simulateObjects({ cluster: IDEAL, nodes: 5, objects: OBJECTS, senders: 2 } as never),
    ).toThrow(expect.objectContaining({ code: 'ERR_RDMC_UNKNOWN_OPTION' }));
  });
});

describe('the memory of a simulation', () => {
  const options = { cluster: 'fractus', nodes: 16, byteLength: 256 * MIB };

  it('is known before it starts, and grows with members', () => {
    expect(simulationBytes({ ...options, nodes: 512 })).toBeGreaterThan(simulationBytes(options));
  });

  it('above the limit is refused', () => {
    expect(() => simulationBytes({ ...options, memoryLimitBytes: 1 })).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_SIMULATION_TOO_LARGE' }),
    );
  });
});
