import { describe, expect, it, onTestFinished } from 'vitest';
import { type MemoryRegion, type QueuePair, remoteKey } from '../src/index.js';
import { completions, connectBoth, connectedSides, PATIENT, type Side, side } from './support/pair.js';

const SHM = { device: 'soft', transport: 'shm' } as const;

function addQueuePair({ domain, queue }: Side): QueuePair {
  return domain.createQueuePair({ sendQueue: queue, receiveQueue: queue });
}

async function statusOf({ queue }: Side): Promise<string> {
  return (await completions(queue, 1))[0]!.status;
}

/** A connected pair, and a device whose first queue pair goes to that of `far` as well: `near` was first. */
async function misdirected() {
  const [near, far] = await connectedSides(SHM);
  const stranger = await side(SHM);
  onTestFinished(async () => {
    for (const { device } of [near, far, stranger]) await device.close();
  });
  await stranger.queuePair.connect(far.queuePair.address, PATIENT);
  return { near, far, stranger };
}

/** What `stranger` has sent to `far` until now has arrived: messages between two devices keep their order. */
async function settle(stranger: Side, far: Side): Promise<void> {
  await connectBoth(addQueuePair(stranger), addQueuePair(far));
}

async function expectConnected(near: Side, far: Side): Promise<void> {
  far.queuePair.postReceive({ id: 1 });
  near.queuePair.postSend({ id: 2, opcode: 'SEND' });
  expect([await statusOf(near), await statusOf(far)]).toEqual(['SUCCESS', 'SUCCESS']);
}

function wrongKey(target: MemoryRegion) {
  return { ...target.remote(), rkey: remoteKey((target.rkey ^ (1 << 20)) >>> 0) };
}

describe('a queue pair that is connected over shared memory', () => {
  it.each([
    ['a WRITE with a wrong key', 'WRITE', wrongKey],
    ['a READ with a wrong key', 'READ', wrongKey],
    ['an atomic at an odd address', 'FETCH_AND_ADD', (target: MemoryRegion) => target.remote(1)],
  ] as const)('is not broken by %s of a queue pair that is not its peer', async (_, opcode, remoteOf) => {
    const { near, far, stranger } = await misdirected();
    const local = await stranger.domain.allocate(8);
    const target = await far.domain.allocate(64, { remoteWrite: true, remoteRead: true, remoteAtomic: true });
    const operands = opcode === 'FETCH_AND_ADD' ? { compareAdd: 1n } : {};
    const request = { id: 3, opcode, sges: [local.sge()], remote: remoteOf(target), ...operands };
    stranger.queuePair.postSend(request as Parameters<QueuePair['postSend']>[0]);
    expect(await statusOf(stranger)).toBe('RETRY_EXCEEDED');
    await settle(stranger, far);
    await expectConnected(near, far);
  });

  it('is not broken by the end of a queue pair that is not its peer', async () => {
    const { near, far, stranger } = await misdirected();
    await stranger.queuePair.close();
    await settle(stranger, far);
    await expectConnected(near, far);
  });
});

it('a WRITE with a wrong key waits until its peer has connected, and then breaks both', async () => {
  const [near, far] = [await side(SHM), await side(SHM)];
  onTestFinished(async () => {
    for (const { device } of [near, far]) await device.close();
  });
  const local = await near.domain.allocate(8);
  const target = await far.domain.allocate(8, { remoteWrite: true });
  await near.queuePair.connect(far.queuePair.address, PATIENT);
  near.queuePair.postSend({ id: 1, opcode: 'WRITE', sges: [local.sge()], remote: wrongKey(target) });
  await far.queuePair.connect(near.queuePair.address, PATIENT);
  far.queuePair.postReceive({ id: 2 });
  expect(await statusOf(near)).toBe('REMOTE_ACCESS_ERROR');
  expect(await statusOf(far)).toBe('WORK_REQUEST_FLUSHED');
});
