import { describe, expect, it } from 'vitest';
import { agreeOnDevice } from '../src/device-agreement.js';
import { attributesOf, type DeviceFacts, ownFacts } from '../src/device-facts.js';

const of = (facts: Partial<DeviceFacts>): DeviceFacts => {
  return { device: 'soft', insists: false, transport: 'auto', host: 'one', ...facts };
};
/** The device that member 0 opens; the others are members 1, 2 and so on. */
const agree = (own: Partial<DeviceFacts>, ...others: Partial<DeviceFacts>[]): string => {
  const peers = others.map((facts, index) => ({ id: index + 1, attributes: attributesOf(of(facts)) }));
  return agreeOnDevice(0, of(own), peers);
};
const [roce, infiniband, soft] = [{ device: 'roce' }, { device: 'infiniband' }, {}];
const insisting = { device: 'roce', insists: true };

describe('the device of a cluster', () => {
  it('is the kind that all have, also if the names of the devices differ', () => {
    expect(agree(soft, soft)).toBe('soft');
    expect(agree(soft, { host: 'another' })).toBe('soft');
    expect(agree(roce, insisting, roce)).toBe('roce');
    expect(agree(insisting, roce)).toBe('roce');
  });

  it('is soft if the kinds differ', () => {
    expect(agree(roce, roce, soft)).toBe('soft');
    expect(agree(roce, infiniband)).toBe('soft');
    expect(agree(soft, roce)).toBe('soft');
  });

  it('does not depend on members without a device', () => {
    expect(agreeOnDevice(0, of(insisting), [{ id: 7, attributes: { role: 'coordinator' } }])).toBe('roce');
  });

  it.each([true, false])('is required if an option or RDMC_DEVICE asked for it: %s', (isAskedFor) => {
    const reason = 'RDMC_DEVICE asks for it';
    const choice = { device: 'mlx5_0', kind: 'ibverbs', reason, isAskedFor } as const;
    expect(ownFacts({}, choice)).toMatchObject({ device: 'roce', insists: isAskedFor });
    expect(ownFacts({}, { ...choice, linkLayer: 'infiniband' })).toMatchObject({ device: 'infiniband' });
  });

  it.each([
    ['device', insisting, soft, "device is 'roce' at member 0 and 'soft' at member 1"],
    ['device', soft, insisting, "device is 'soft' at member 0 and 'roce' at member 1"],
    ['transport', { transport: 'tcp' }, soft, "transport is 'tcp' at member 0 and 'auto' at member 1"],
    [
      'host',
      { transport: 'shm' },
      { transport: 'shm', host: 'two' },
      'members 0 and 1 are on different hosts',
    ],
  ])('is refused if the devices do not reach each other: %s', (field, own, other, message) => {
    expect(() => agree(own, other)).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_DEVICE_MISMATCH',
        memberId: 1,
        field,
        message: expect.stringContaining(message),
      }),
    );
  });
});
