import { ScheduleError } from '@rdmc/schedule';
import { thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  idealCluster,
  type SimulateOptions,
  SimulatorError,
  simulate,
  simulateChannels,
  simulateRecovery,
} from '../src/index.js';

const OPTIONS: SimulateOptions = { cluster: 'fractus', nodes: 4, byteLength: 4096, blockBytes: 1024 };

function errorOf(options: object): unknown {
  try {
    simulate({ ...OPTIONS, ...options });
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('bad input', () => {
  it.each([
    ['an unknown preset', { cluster: 'summit' }, 'ERR_RDMC_UNKNOWN_PRESET'],
    ['an unknown option', { node: 4 }, 'ERR_RDMC_UNKNOWN_OPTION'],
    ['no cluster', { cluster: undefined }, 'ERR_RDMC_INVALID_OPTION'],
    ['a bucket below nothing', { cluster: idealCluster(8, { bucketBytes: -1 }) }, 'ERR_RDMC_INVALID_OPTION'],
    [
      'a bucket without end',
      { cluster: idealCluster(8, { bucketBytes: Infinity }) },
      'ERR_RDMC_INVALID_OPTION',
    ],
    ['a bucket of no number', { cluster: idealCluster(8, { bucketBytes: NaN }) }, 'ERR_RDMC_INVALID_OPTION'],
    ['one member', { nodes: 1 }, 'ERR_RDMC_INVALID_OPTION'],
    ['blocks of no byte', { blockBytes: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a fraction of a byte', { byteLength: 0.5 }, 'ERR_RDMC_INVALID_OPTION'],
    ['unknown windows', { windows: 'wide' }, 'ERR_RDMC_INVALID_OPTION'],
    ['a window of 0', { windows: { receive: 0, send: 1 } }, 'ERR_RDMC_INVALID_OPTION'],
    ['racks for other members', { racks: [0, 1] }, 'ERR_RDMC_INVALID_OPTION'],
    ['a slow link of one node', { slowLinks: [{ a: 1, b: 1, ratio: 0.5 }] }, 'ERR_RDMC_INVALID_OPTION'],
    ['a slow link that is fast', { slowLinks: [{ a: 1, b: 2, ratio: 2 }] }, 'ERR_RDMC_INVALID_OPTION'],
    ['a preemption elsewhere', { preemptions: [{ node: 4, at: 0, lasts: 1 }] }, 'ERR_RDMC_INVALID_OPTION'],
    ['preemption all the time', { preemptionRate: { perSecond: 1e6, lasts: 1 } }, 'ERR_RDMC_INVALID_OPTION'],
    ['a negative window', { windowMs: -1 }, 'ERR_RDMC_INVALID_OPTION'],
    ['an unknown relay', { relay: 'nic' }, 'ERR_RDMC_INVALID_OPTION'],
    ['relays of NICs that run everything', { relay: 'device', offload: true }, 'ERR_RDMC_INVALID_OPTION'],
    ['no processor', { sharedProcessors: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['half a processor', { sharedProcessors: 0.5 }, 'ERR_RDMC_INVALID_OPTION'],
    ['more senders than members', { senders: 5 }, 'ERR_RDMC_INVALID_OPTION'],
  ])('%s has a stable code', (_, options, code) => {
    const error = errorOf(options);
    expect(error).toBeInstanceOf(SimulatorError);
    expect(error).toMatchObject({ code });
  });

  it.each([
    ['an unknown algorithm', { algorithm: 'tree' }, 'ERR_RDMC_UNKNOWN_ALGORITHM'],
    ['hybrid without racks', { algorithm: 'hybrid' }, 'ERR_RDMC_INVALID_RACKS'],
    ['too many blocks', { byteLength: 2 ** 40, blockBytes: 1 }, 'ERR_RDMC_INVALID_BLOCKS'],
  ])('%s has the code of the schedule', (_, options, code) => {
    const error = errorOf(options);
    expect(error).toBeInstanceOf(ScheduleError);
    expect(error).toMatchObject({ code });
  });

  it('lists the presets when it does not know one', () => {
    expect(String(errorOf({ cluster: 'summit' }))).toContain(
      'fractus, stampede, sierra, apt, hipower, tailwind, netlab',
    );
  });

  it('refuses a simulation larger than memory before it starts', () => {
    const huge = { nodes: 65_536, byteLength: 2 ** 36, blockBytes: 2 ** 20 };
    expect(errorOf({ ...huge, memoryLimitBytes: 2 ** 31 })).toMatchObject({
      code: 'ERR_RDMC_SIMULATION_TOO_LARGE',
    });
    expect(errorOf({ memoryLimitBytes: 1000 })).toMatchObject({ code: 'ERR_RDMC_SIMULATION_TOO_LARGE' });
  });

  it('refuses channels and recoveries larger than memory before they start', () => {
    const refused = { code: 'ERR_RDMC_SIMULATION_TOO_LARGE' };
    const channels = { cluster: 'hipower', confirmation: 'bitmap', byteLength: 512 } as const;
    // The most that the options allow: 640 million latencies.
    const many = { ...channels, pattern: 'gather', workers: 64, messages: 10_000_000 } as const;
    expect(thrown(() => simulateChannels({ ...many, memoryLimitBytes: 2 ** 32 }))).toMatchObject(refused);
    expect(simulateChannels({ ...many, messages: 10 }).deliveries).toBe(640);
    const one = { ...channels, pattern: 'one', messages: 1 } as const;
    expect(thrown(() => simulateChannels({ ...one, memoryLimitBytes: 1000 }))).toMatchObject(refused);

    const recovery = { cluster: 'tailwind', servers: 256, objects: 10, memoryLimitBytes: 2 ** 32 } as const;
    expect(simulateRecovery(recovery).segments).toBe(1);
    const segments = { objects: 100_000, objectBytes: 1000, segmentBytes: 1000 };
    expect(thrown(() => simulateRecovery({ ...recovery, ...segments }))).toMatchObject(refused);
  });
});
