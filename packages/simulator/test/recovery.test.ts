import { thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { idealCluster, type SimulateRecoveryOptions, simulateRecovery } from '../src/index.js';

const BASE = { cluster: 'tailwind', servers: 5, objects: 300_000 } as const;

describe('a simulated recovery', () => {
  it('scans each segment once, and gives each heir its part of all', () => {
    const { servers, segments } = simulateRecovery({ ...BASE, heirs: 3 });
    const bytes = 300_000 * 154;
    const sum = (name: 'scanned' | 'served' | 'pulled') =>
      servers.reduce((total, each) => total + each[name], 0);
    expect(segments).toBe(Math.ceil(300_000 / Math.floor((8 * 2 ** 20) / 154)));
    for (const name of ['scanned', 'served', 'pulled'] as const) expect(sum(name)).toBeCloseTo(bytes, 0);
    expect(servers.map(({ pulled }) => Math.round((3 * pulled) / bytes))).toEqual([1, 1, 1, 0, 0]);
  });

  it('is the same for the same seed', () => {
    expect(simulateRecovery(BASE)).toEqual(simulateRecovery(BASE));
    expect(simulateRecovery({ ...BASE, seed: 2 })).not.toEqual(simulateRecovery(BASE));
  });

  it('waits for the slowest of disks, links, threads and processors', () => {
    const seconds = (more: Partial<SimulateRecoveryOptions>) =>
      simulateRecovery({ ...BASE, ...more }).microseconds / 1e6;
    const free = seconds({});
    expect(seconds({ diskMegabytesPerSecond: 5 })).toBeGreaterThan((300_000 * 154) / 5e6 / 5);
    // Each heir writes a fifth of the log to three others.
    const bits = (300_000 * 154 * 8 * 3) / 5;
    expect(seconds({ cluster: idealCluster(0.1) })).toBeGreaterThan(bits / 0.1e9);
    const work = 300_000 * 6e-6;
    expect(seconds({ processors: 1 })).toBeGreaterThan(work);
    expect(seconds({ heirs: 1 })).toBeGreaterThan(work);
    expect(free).toBeLessThan(0.24 + (1.3 * work) / 5);
  });

  it.each([
    [{ servers: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    [{ heirs: 6 }, 'ERR_RDMC_INVALID_OPTION'],
    [{ replicas: 6 }, 'ERR_RDMC_INVALID_OPTION'],
    [{ processors: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    [{ costs: { replay: -1 } }, 'ERR_RDMC_INVALID_OPTION'],
    [{ costs: { reply: 1 } }, 'ERR_RDMC_UNKNOWN_OPTION'],
    [{ objects: 1e9, segmentBytes: 1000 }, 'ERR_RDMC_INVALID_OPTION'],
    [{ cluster: 'none' }, 'ERR_RDMC_UNKNOWN_PRESET'],
    [{ disk: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
  ])('refuses %j', (wrong, code) => {
    expect(thrown(() => simulateRecovery({ ...BASE, ...wrong } as SimulateRecoveryOptions))).toMatchObject({
      code,
    });
  });
});
