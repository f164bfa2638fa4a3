import { rejection, watchedTrace } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openDevice } from '../src/index.js';
import { connectBoth } from './support/pair.js';

it('traces opened devices and connected queue pairs, with their outcomes', async () => {
  const [opened, connections] = [watchedTrace('@rdmc/verbs:open'), watchedTrace('@rdmc/verbs:connect')];
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  const error = await rejection(openDevice({ device: 'none0' }));
  expect(opened).toEqual([
    { device: 'soft', result: device },
    { device: 'none0', error },
  ]);
  const domain = device.allocateProtectionDomain();
  const queue = device.createCompletionQueue();
  const [a, b] = [0, 1].map(() => domain.createQueuePair({ sendQueue: queue, receiveQueue: queue }));
  await connectBoth(a!, b!);
  expect(connections).toMatchObject([
    { queuePair: a!.number, kind: b!.address.kind },
    { queuePair: b!.number, kind: a!.address.kind },
  ]);
  for (const connection of connections) expect(connection).not.toHaveProperty('error');
});
