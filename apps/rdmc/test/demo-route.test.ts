import { describe, expect, it } from 'vitest';
import type { DemoOptions } from '../src/demo/options.js';
import { chooseRoute } from '../src/demo/route.js';

const OPTIONS: DemoOptions = {
  members: 8,
  size: undefined,
  file: undefined,
  algorithm: 'all',
  blockSize: 'auto',
  device: 'auto',
  transport: 'auto',
  linkRate: undefined,
  keep: false,
  json: false,
};
const soft = () => ({ device: 'soft', kind: 'soft', reason: '', isAskedFor: false }) as const;
const found = (isAskedFor: boolean) => () =>
  ({ device: 'mlx5_0', kind: 'ibverbs', reason: '', isAskedFor }) as const;

describe('the way between the members of a demonstration', () => {
  it('is TCP with a link for each, also where there is an RDMA device that nobody asked for', () => {
    const expected = {
      transport: 'tcp',
      linkRate: 400e6,
      reason: 'each member has a link of its own, 400 Mbit/s in each direction',
    };
    expect(chooseRoute(OPTIONS, soft)).toMatchObject(expected);
    expect(chooseRoute(OPTIONS, found(false))).toMatchObject(expected);
  });

  it('has the given rate, or none', () => {
    expect(chooseRoute({ ...OPTIONS, linkRate: 1.5e9 }, soft)).toMatchObject({
      linkRate: 1.5e9,
      reason: 'each member has a link of its own, 1.5 Gbit/s in each direction',
    });
    expect(chooseRoute({ ...OPTIONS, linkRate: 'none' }, soft)).toMatchObject({
      transport: 'tcp',
      linkRate: undefined,
    });
  });

  it('is a device, or shared memory, that was asked for', () => {
    const wish = { ...OPTIONS, device: 'mlx5_0' };
    expect(chooseRoute(wish, found(true))).toMatchObject({ device: 'mlx5_0', transport: 'auto' });
    expect(chooseRoute({ ...OPTIONS, transport: 'shm' }, soft)).toMatchObject({ transport: 'shm' });
  });

  it.each([
    [
      'an RDMA device',
      { ...OPTIONS, device: 'mlx5_0', linkRate: 1e9 },
      found(true),
      'leave it out for mlx5_0',
    ],
    ['shared memory', { ...OPTIONS, transport: 'shm', linkRate: 'none' }, soft, 'leave out --transport shm'],
  ] as const)('has no rate over %s', (_, options, choose, message) => {
    expect(() => chooseRoute(options, choose)).toThrow(message);
  });
});
