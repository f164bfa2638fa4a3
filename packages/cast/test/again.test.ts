import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { castFile } from '@rdmc/cast';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { fakeReceiver, goAlong } from './support/fake-receiver.js';
import { startReceivers } from './support/receivers.js';
import { write } from './support/tree.js';

it('a receiver of one cast gets it also where the sender starts again without one that was lost', async () => {
  const from = temporaryDirectory();
  write(from, 'file', 'contents');
  const [receiver] = await startReceivers(1, { once: true });
  const lost = await fakeReceiver(async (channel, socket) => {
    await goAlong(channel);
    socket.destroy();
  });
  const { receivers } = await castFile(join(from, 'file'), { to: [lost.to, receiver!.to] }).finished;
  expect(receivers.map(({ state }) => state)).toEqual(['failed', 'complete']);
  expect(readFileSync(join(receiver!.directory, 'file'), 'utf8')).toBe('contents');
  await receiver!.receiver.closed;
  lost.close();
});
