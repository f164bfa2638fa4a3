import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { attachProtectionDomain, attachRegion, openDevice } from '../src/index.js';
import { native } from '../src/native.js';

async function opened() {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  return device;
}

function codeOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return 'no error';
}

describe('a handle of something that another thread has closed', () => {
  it('of a region does not refer to the next region in its slot', async () => {
    const device = await opened();
    const domain = device.allocateProtectionDomain();
    const stale = await domain.allocate(4096, { remoteWrite: true });
    stale.closeNow();
    const next = await domain.allocate(4096, { remoteWrite: true });
    next.view().fill(9);
    const addon = native();
    const closed = 'ERR_RDMC_REGION_CLOSED';
    expect(codeOf(() => attachRegion(device, stale.handle))).toBe(closed);
    expect(codeOf(() => addon.regionBuffer(device.handle, stale.handle, 0, 4096))).toBe(closed);
    expect(codeOf(() => addon.regionHold(device.handle, stale.handle))).toBe(closed);
    expect(codeOf(() => addon.regionLetGo(device.handle, stale.handle))).toBe(closed);
    expect(codeOf(() => addon.regionRevoke(device.handle, stale.handle))).toBe(closed);
    expect(codeOf(() => addon.regionClose(device.handle, stale.handle))).toBe(closed);
    expect(attachRegion(device, next.handle).view(0, 1)[0]).toBe(9);
    expect(next.outstanding).toBe(0);
  });

  it('of a region is refused in a thread that got it before', async () => {
    const device = await opened();
    const domain = device.allocateProtectionDomain();
    const stale = await domain.allocate(4096);
    const worker = new Worker(new URL('fixtures/stale-handle-worker.mjs', import.meta.url), {
      workerData: { device: device.handle, region: stale.handle },
    });
    await once(worker, 'message');
    stale.closeNow();
    const next = await domain.allocate(4096);
    worker.postMessage('closed');
    expect(await once(worker, 'message')).toEqual(['ERR_RDMC_REGION_CLOSED']);
    expect(next.outstanding).toBe(0);
    await worker.terminate();
  });

  it('of a completion queue does not refer to the next one', async () => {
    const device = await opened();
    const domain = device.allocateProtectionDomain();
    const stale = device.createCompletionQueue();
    await stale.close();
    const next = device.createCompletionQueue();
    const closed = 'ERR_RDMC_COMPLETION_QUEUE_CLOSED';
    expect(codeOf(() => stale.arm())).toBe(closed);
    expect(codeOf(() => native().completionQueueDestroy(device.handle, stale.handle))).toBe(closed);
    expect(codeOf(() => domain.createQueuePair({ sendQueue: stale, receiveQueue: next }))).toBe(closed);
    next.arm();
  });

  it('of a protection domain does not refer to the next one', async () => {
    const device = await opened();
    const stale = device.allocateProtectionDomain();
    await stale.close();
    const next = device.allocateProtectionDomain();
    const queue = device.createCompletionQueue();
    const attached = attachProtectionDomain(device, stale.handle);
    const closed = 'ERR_RDMC_PROTECTION_DOMAIN_CLOSED';
    expect(next.handle).not.toBe(stale.handle);
    expect(codeOf(() => attached.createQueuePair({ sendQueue: queue, receiveQueue: queue }))).toBe(closed);
    expect(codeOf(() => attached.register(new Uint8Array(8)))).toBe(closed);
    await expect(attached.allocate(4096)).rejects.toMatchObject({ code: closed });
    expect(codeOf(() => attached.close())).toBe(closed);
  });

  it('of a channel or a device does not refer to the next one', async () => {
    const device = await opened();
    const channel = device.createCompletionChannel();
    await channel.close();
    device.createCompletionChannel();
    expect(codeOf(() => channel.fd)).toBe('ERR_RDMC_CHANNEL_CLOSED');
    const stale = await openDevice({ device: 'soft' });
    await stale.close();
    await opened();
    expect(codeOf(() => native().protectionDomainCreate(stale.handle))).toBe('ERR_RDMC_DEVICE_CLOSED');
  });
});
