import { peek, protectionAt } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type MemoryRegion, openDevice } from '../src/index.js';
import { completions, connectedSides, type Side } from './support/pair.js';

const BYTES = 200_000;
const ALL_RIGHTS = { remoteWrite: true, remoteRead: true, remoteAtomic: true };
const bytes = Uint8Array.from({ length: BYTES }, (_, at) => (at * 7 + (at >>> 8)) & 255);

function closed({ domain }: Side): Promise<MemoryRegion> {
  return domain.allocate(BYTES, { ...ALL_RIGHTS, hostAccess: false });
}

async function filled({ domain }: Side): Promise<MemoryRegion> {
  const region = await domain.allocate(BYTES, ALL_RIGHTS);
  region.view().set(bytes);
  return region;
}

describe.each(['shm', 'tcp'] as const)('memory without host access over %s', (transport) => {
  async function sides(): Promise<[Side, Side]> {
    const both = await connectedSides({ device: 'soft', transport });
    onTestFinished(async () => {
      await Promise.all(both.map(({ device }) => device.close()));
    });
    return both;
  }

  it('is refused to the program, and mapped PROT_NONE', async () => {
    const [side] = await sides();
    const [region, other] = [await closed(side), await filled(side)];
    expect(region).toMatchObject({ hostAccess: false, remoteWrite: true, shareable: true });
    expect(other).toMatchObject({ hostAccess: true });
    expect(protectionAt(region.address)).toBe('---s');
    expect(protectionAt(region.address + BYTES - 1)).toBe('---s');
    expect(() => region.view()).toThrow(expect.objectContaining({ code: 'ERR_RDMC_NO_HOST_ACCESS' }));
    for (const [to, from] of [
      [region.address, other.address],
      [other.address, region.address],
    ] as const) {
      const outOfBounds = expect.objectContaining({ code: 'ERR_RDMC_OUT_OF_BOUNDS' });
      expect(() => side.device.copy(to, from, 8)).toThrow(outOfBounds);
    }
    const { address } = region;
    await region.close();
    expect(protectionAt(address)).not.toBe('---s');
  });

  it('is the target and the source of WRITE, READ and SEND', async () => {
    const [a, b] = await sides();
    const [from, there, here, back] = [await filled(a), await closed(b), await closed(a), await filled(b)];
    back.view().fill(0);
    a.queuePair.postSend({ id: 1, opcode: 'WRITE', sges: [from.sge()], remote: there.remote() });
    expect(await completions(a.queue, 1)).toMatchObject([{ id: 1, status: 'SUCCESS' }]);
    expect(peek(there.address, BYTES).equals(bytes)).toBe(true);
    a.queuePair.postSend({ id: 2, opcode: 'READ', sges: [here.sge()], remote: there.remote() });
    expect(await completions(a.queue, 1)).toMatchObject([{ id: 2, status: 'SUCCESS' }]);
    expect(peek(here.address, BYTES).equals(bytes)).toBe(true);
    a.queuePair.postSend({ id: 3, opcode: 'WRITE', sges: [here.sge()], remote: back.remote() });
    expect(await completions(a.queue, 1)).toMatchObject([{ id: 3, status: 'SUCCESS' }]);
    expect(Buffer.compare(back.view(), bytes)).toBe(0);
    b.queuePair.postReceive({ id: 4, sges: [there.sge(1, 3), there.sge(10, 5)] });
    a.queuePair.postSend({ id: 5, opcode: 'SEND', sges: [here.sge(100, 6)] });
    expect(await completions(b.queue, 1)).toMatchObject([{ id: 4, status: 'SUCCESS', byteLength: 6 }]);
    const expected = Buffer.from(bytes.subarray(0, 16));
    expected.set(bytes.subarray(100, 103), 1);
    expected.set(bytes.subarray(103, 106), 10);
    expect(peek(there.address, 16)).toEqual(expected);
  });

  it('takes atomics, and the value that an atomic returns', async () => {
    const [a, b] = await sides();
    const [words, there, here] = [await filled(a), await closed(b), await closed(a)];
    words.view(0, 8).fill(0);
    words.view(0, 1)[0] = 5;
    a.queuePair.postSend({ id: 1, opcode: 'WRITE', sges: [words.sge(0, 8)], remote: there.remote(64) });
    const result = here.sge(8, 8);
    const remote = there.remote(64);
    a.queuePair.postSend({ id: 2, opcode: 'FETCH_AND_ADD', sges: [result], remote, compareOrAdd: 3n });
    expect(await completions(a.queue, 2)).toMatchObject([{ status: 'SUCCESS' }, { status: 'SUCCESS' }]);
    expect(peek(there.address + 64, 8).readBigUInt64LE()).toBe(8n);
    expect(peek(here.address + 8, 8).readBigUInt64LE()).toBe(5n);
  });
});

it('an allocation with a wrong option is refused', async () => {
  const device = await openDevice({ device: 'soft' });
  const domain = device.allocateProtectionDomain();
  const hostAccess = 'no' as unknown as boolean;
  await expect(domain.allocate(8, { hostAccess })).rejects.toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
  await device.close();
});
