import type { MeshPeer } from '@rdmc/mesh';
import { describe, expect, it } from 'vitest';
import {
  agreeOnDevice,
  attributesOf,
  type DeviceFacts,
  ownFacts,
  softChoice,
} from '../src/device-agreement.js';

const facts = (device: string, insists = false): DeviceFacts => {
  return { device, insists, transport: 'auto', host: 'one' };
};
const peers = (...all: DeviceFacts[]): MeshPeer[] => {
  return all.map((each, index) => ({ id: index + 1, attributes: attributesOf(each) }) as unknown as MeshPeer);
};

describe('the device of a group', () => {
  it('is the kind that all have', () => {
    expect(agreeOnDevice(0, facts('roce'), peers(facts('roce', true), facts('roce')))).toBe('roce');
  });

  it('is soft where kinds are mixed', () => {
    expect(agreeOnDevice(0, facts('roce'), peers(facts('roce'), facts('soft')))).toBe('soft');
    expect(agreeOnDevice(0, facts('roce'), peers(facts('infiniband')))).toBe('soft');
    expect(agreeOnDevice(0, facts('soft'), peers(facts('roce')))).toBe('soft');
  });

  it.each([true, false])(
    'a device that was asked for, by RDMC_DEVICE too, is insisted on: %s',
    (isAskedFor) => {
      const choice = {
        device: 'mlx5_0',
        kind: 'ibverbs',
        reason: 'RDMC_DEVICE asks for it',
        isAskedFor,
      } as const;
      expect(ownFacts({}, choice)).toMatchObject({ device: 'roce', insists: isAskedFor });
    },
  );

  it('says why it is the soft one', () => {
    const soft = { device: 'soft', kind: 'soft', reason: 'asked for', isAskedFor: true } as const;
    expect(softChoice(soft)).toBe(soft);
    const rdma = { device: 'mlx5_0', kind: 'ibverbs', reason: 'the RDMA device of this machine' } as const;
    expect(softChoice({ ...rdma, isAskedFor: false })).toMatchObject({
      device: 'soft',
      kind: 'soft',
      reason: 'not all members have a device as this one has: mlx5_0, the RDMA device of this machine',
    });
  });

  it('is refused where a member insists on what not all have', () => {
    expect(() => agreeOnDevice(0, facts('roce', true), peers(facts('soft')))).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_DEVICE_MISMATCH',
        message: expect.stringContaining("'roce' at member 0 and 'soft' at member 1"),
      }),
    );
  });
});
