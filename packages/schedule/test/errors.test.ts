import { ofClass, thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  algorithms,
  averageSlack,
  createSchedule,
  isAlgorithm,
  MAX_BLOCKS,
  MAX_NODES,
  rackTraffic,
  ScheduleError,
  type ScheduleOptions,
  slowLinkBound,
  slowLinkFactor,
} from '../src/index.js';

const good = { algorithm: 'binomial-pipeline', nodes: 4, blocks: 3 } as const;

function errorOf(action: () => unknown): ScheduleError {
  return ofClass(ScheduleError, thrown(action));
}

function creating(options: unknown): ScheduleError {
  return errorOf(() => createSchedule(options as ScheduleOptions));
}

describe('bad options', () => {
  it.each([
    ['ERR_RDMC_UNKNOWN_ALGORITHM', { ...good, algorithm: 'binomial' }, "'binomial'"],
    ['ERR_RDMC_UNKNOWN_ALGORITHM', { ...good, algorithm: undefined }, 'undefined'],
    ['ERR_RDMC_UNKNOWN_ALGORITHM', { ...good, algorithm: 'toString' }, 'choose one of sequential, chain'],
    ['ERR_RDMC_INVALID_NODES', { ...good, nodes: 1 }, 'at least two members'],
    ['ERR_RDMC_INVALID_NODES', { ...good, nodes: 0 }, 'at least two'],
    ['ERR_RDMC_INVALID_NODES', { ...good, nodes: 2.5 }, '2.5'],
    ['ERR_RDMC_INVALID_NODES', { ...good, nodes: '4' }, "'4'"],
    ['ERR_RDMC_INVALID_NODES', { ...good, nodes: MAX_NODES + 1 }, String(MAX_NODES)],
    ['ERR_RDMC_INVALID_BLOCKS', { ...good, blocks: 0 }, 'from 1'],
    ['ERR_RDMC_INVALID_BLOCKS', { ...good, blocks: 3n }, '3n'],
    ['ERR_RDMC_INVALID_BLOCKS', { ...good, blocks: Number.NaN }, 'NaN'],
    ['ERR_RDMC_INVALID_BLOCKS', { ...good, blocks: MAX_BLOCKS + 1 }, 'larger blocks'],
    ['ERR_RDMC_INVALID_RACKS', { ...good, algorithm: 'hybrid' }, 'needs racks'],
    ['ERR_RDMC_INVALID_RACKS', { ...good, racks: [1, 1, 2] }, '3 entries for 4 nodes'],
    ['ERR_RDMC_INVALID_RACKS', { ...good, racks: 'aabb' }, "'aabb'"],
    ['ERR_RDMC_INVALID_RACKS', { ...good, racks: [1, 1, 2, null] }, 'racks[3] is null'],
    ['ERR_RDMC_INVALID_RACKS', { ...good, racks: [1, Number.NaN, 2, 2] }, 'racks[1] is NaN'],
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
    ['ERR_RDMC_INVALID_RACKS', { ...good, racks: [1, , 2, 2] }, 'racks[1] is undefined'],
    ['ERR_RDMC_UNKNOWN_OPTION', { ...good, block: 3 }, "'block'"],
    ['ERR_RDMC_UNKNOWN_OPTION', undefined, 'undefined'],
    ['ERR_RDMC_UNKNOWN_OPTION', 'chain', "'chain'"],
  ])('%s for %o', (code, options, part) => {
    const error = creating(options);
    expect(error.code).toBe(code);
    expect(error.name).toBe('ScheduleError');
    expect(error.message).toContain(part);
  });

  it('takes the largest values', () => {
    const { steps } = createSchedule({
      algorithm: 'binomial-pipeline',
      nodes: MAX_NODES,
      blocks: MAX_BLOCKS,
    });
    expect(steps).toBe(2 ** 32 + 19);
  });
});

describe('bad arguments', () => {
  const schedule = createSchedule(good);

  it.each([-1, 4, 1.5, Number.NaN, '0' as unknown as number, undefined as unknown as number])(
    'rank %o',
    (rank) => {
      for (const method of ['rank', 'sends', 'receives', 'neighbours'] as const) {
        expect(errorOf(() => schedule[method](rank)).code).toBe('ERR_RDMC_INVALID_RANK');
      }
      expect(errorOf(() => slowLinkFactor(schedule, { a: 0, b: rank, ratio: 1 })).code).toBe(
        'ERR_RDMC_INVALID_RANK',
      );
    },
  );

  it.each([-1, 4, 0.5, '1' as unknown as number])('step %o of 4', (step) => {
    expect(schedule.steps).toBe(4);
    expect(errorOf(() => schedule.at(step)).code).toBe('ERR_RDMC_INVALID_STEP');
    expect(errorOf(() => schedule.sends(1, step)).code).toBe('ERR_RDMC_INVALID_STEP');
    expect(errorOf(() => schedule.receives(1, step)).code).toBe('ERR_RDMC_INVALID_STEP');
    expect(errorOf(() => averageSlack(schedule, step)).code).toBe('ERR_RDMC_INVALID_STEP');
  });

  it.each([0, -1, 1.1, Number.NaN])('ratio %o', (ratio) => {
    expect(errorOf(() => slowLinkBound(8, ratio)).code).toBe('ERR_RDMC_INVALID_RATIO');
    expect(errorOf(() => slowLinkFactor(schedule, { a: 0, b: 1, ratio })).code).toBe(
      'ERR_RDMC_INVALID_RATIO',
    );
  });

  it('racks of an analysis', () => {
    expect(errorOf(() => rackTraffic(schedule)).code).toBe('ERR_RDMC_INVALID_RACKS');
    expect(errorOf(() => rackTraffic(schedule, [1])).code).toBe('ERR_RDMC_INVALID_RACKS');
  });
});

describe('the rest of the API', () => {
  it('knows its algorithms', () => {
    expect(algorithms).toEqual(['sequential', 'chain', 'binomial-tree', 'binomial-pipeline', 'hybrid']);
    expect(algorithms.every(isAlgorithm)).toBe(true);
    expect(['', 'Chain', undefined, 3, 'length'].some(isAlgorithm)).toBe(false);
  });

  it('has its options as properties, and a copy of the racks', () => {
    const racks = ['a', 'b', 'a'];
    const schedule = createSchedule({ algorithm: 'hybrid', nodes: 3, blocks: 2, racks });
    racks[0] = 'z';
    expect(schedule).toMatchObject({ algorithm: 'hybrid', nodes: 3, blocks: 2, racks: ['a', 'b', 'a'] });
    expect(createSchedule(good).racks).toBeUndefined();
  });

  it('reads lazily: the first transfers of an endless message come at once, and each call starts anew', () => {
    const schedule = createSchedule({ ...good, blocks: MAX_BLOCKS });
    expect(schedule.transfers().next().value).toEqual({ step: 0, from: 0, to: 1, block: 0 });
    expect(schedule.transfers().next().value).toEqual({ step: 0, from: 0, to: 1, block: 0 });
  });

  it('gives one step alone', () => {
    const schedule = createSchedule(good);
    const all = [...schedule.transfers()];
    for (let step = 0; step < schedule.steps; step += 1) {
      expect([...schedule.at(step)]).toEqual(all.filter((t) => t.step === step));
    }
  });
});
