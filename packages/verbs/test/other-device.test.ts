import { describe, expect, it, onTestFinished } from 'vitest';
import { attachDevice, attachProtectionDomain, type Device, openDevice } from '../src/index.js';

const REFUSED = expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION' });

async function opened(): Promise<Device> {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  return device;
}

/** Two devices with a completion queue and a channel each, which have the same numbers. */
async function twoDevices() {
  const devices = [await opened(), await opened()] as const;
  const [own, foreign] = devices.map((device) => device.createCompletionQueue());
  const [ownChannel, foreignChannel] = devices.map((device) => device.createCompletionChannel());
  expect([own!.handle, ownChannel!.handle]).toEqual([foreign!.handle, foreignChannel!.handle]);
  const domain = devices[0].allocateProtectionDomain();
  return { device: devices[0], domain, own: own!, foreign: foreign!, foreignChannel: foreignChannel! };
}

describe('an object of another device', () => {
  it('is not a completion queue for a queue pair', async () => {
    const { domain, own, foreign } = await twoDevices();
    const both = { sendQueue: own, receiveQueue: own };
    expect(() => domain.createQueuePair({ ...both, sendQueue: foreign })).toThrow(REFUSED);
    expect(() => domain.createQueuePair({ ...both, receiveQueue: foreign })).toThrow(REFUSED);
    // No queue pair was made that would use the domain.
    await domain.close();
  });

  it('is not a channel for a completion queue', async () => {
    const { device, foreignChannel } = await twoDevices();
    expect(() => device.createCompletionQueue({ channel: foreignChannel })).toThrow(REFUSED);
    await foreignChannel.close();
  });

  it.each([undefined, null, {}, { handle: 0 }])('is not %j either', async (nothing) => {
    const { domain, own } = await twoDevices();
    const sendQueue = nothing as unknown as typeof own;
    expect(() => domain.createQueuePair({ sendQueue, receiveQueue: own })).toThrow(REFUSED);
  });
});

describe('an object of the same device, attached once more', () => {
  it('is a completion queue for a queue pair of it', async () => {
    const { device, domain, own } = await twoDevices();
    const attached = attachDevice(device.handle);
    const theirs = attached.createCompletionQueue();
    const channel = device.createCompletionChannel();
    const attachedDomain = attachProtectionDomain(attached, domain.handle);
    for (const queue of [own, theirs, attached.createCompletionQueue({ channel })]) {
      for (const each of [domain, attachedDomain]) {
        const queuePair = each.createQueuePair({ sendQueue: queue, receiveQueue: own });
        expect(queuePair.state).toBe('INIT');
      }
    }
  });

  it('is one by its handles, which other threads can send', async () => {
    const { device, domain, own } = await twoDevices();
    const sent = structuredClone({ handle: own.handle, device: { handle: device.handle } });
    expect(domain.createQueuePair({ sendQueue: sent, receiveQueue: sent }).state).toBe('INIT');
  });
});
