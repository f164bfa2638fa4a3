import type { DeviceChoice } from '@rdmc/verbs';
import { expect, it } from 'vitest';
import { agreeOnDevice, deviceFacts } from '../src/device-agreement.js';

const choice = (of: Partial<DeviceChoice>): DeviceChoice => of as DeviceChoice;
const roce = (name: string, isAskedFor: boolean) =>
  deviceFacts({}, choice({ kind: 'ibverbs', device: name, linkLayer: 'ethernet', isAskedFor }));
const soft = (isAskedFor: boolean) => deviceFacts({}, choice({ kind: 'soft', device: 'soft', isAskedFor }));

it('devices of one kind agree, whatever each host calls its own', () => {
  const peers = [{ id: 1, attributes: roce('mlx5_1', true) }] as never[];
  expect(agreeOnDevice(0, roce('mlx5_0', true), peers)).toBe('roce');
});

it('where one has no RDMA device all take the soft one, unless somebody asked for RDMA', () => {
  const peers = [{ id: 1, attributes: soft(false) }] as never[];
  expect(agreeOnDevice(0, roce('mlx5_0', false), peers)).toBe('soft');
  expect(() => agreeOnDevice(0, roce('mlx5_0', true), peers)).toThrow(
    expect.objectContaining({ code: 'ERR_RDMC_DEVICE_MISMATCH', memberId: 1, field: 'device' }),
  );
});
