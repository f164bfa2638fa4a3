import { readdirSync, readlinkSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { type CompletionChannel, type Device, openDevice, type ProtectionDomain } from '../src/index.js';
import { completions, connectBoth } from './support/pair.js';

const ROUNDS = 20;

function openSockets(): number {
  let count = 0;
  for (const name of readdirSync('/proc/self/fd')) {
    try {
      if (readlinkSync(`/proc/self/fd/${name}`).startsWith('socket:')) count += 1;
    } catch {
      // It was that of the folder itself.
    }
  }
  return count;
}

function event(channel: CompletionChannel): Promise<void> {
  return new Promise((resolve) => {
    const subscription = channel.onEvent(() => {
      subscription.close();
      resolve();
    });
  });
}

interface Owner {
  readonly device: Device;
  readonly domain: ProtectionDomain;
}

async function owner(): Promise<Owner> {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  return { device, domain: device.allocateProtectionDomain() };
}

/** A queue pair of `b` with a channel of its own receives a message of `a`; then all of them are closed. */
async function round(a: Owner, b: Owner): Promise<void> {
  const queue = a.device.createCompletionQueue();
  const channel = b.device.createCompletionChannel();
  const woken = b.device.createCompletionQueue({ channel });
  const near = a.domain.createQueuePair({ sendQueue: queue, receiveQueue: queue });
  const far = b.domain.createQueuePair({ sendQueue: woken, receiveQueue: woken });
  await connectBoth(near, far);
  far.postReceive({ id: 1 });
  woken.arm();
  const woke = event(channel);
  near.postSend({ id: 2, opcode: 'SEND' });
  await woke;
  await completions(woken, 1);
  for (const each of [near, far, queue, woken, channel]) await each.close();
}

it('a peer wakes the channel of a new completion queue, and does not keep the descriptors of former ones', async () => {
  const [a, b] = [await owner(), await owner()];
  await round(a, b);
  const before = openSockets();
  for (let i = 0; i < ROUNDS; i += 1) await round(a, b);
  expect(openSockets() - before).toBeLessThan(ROUNDS / 2);
});
