import { HiPowerNode } from '@rdmc/hipower';
import { rejection, watchedTrace } from '@rdmc/testing';
import { expect, it } from 'vitest';

it('traces creations, writes and ends, with their outcomes', async () => {
  const [creations, writes, ends] = [
    watchedTrace('@rdmc/hipower:create'),
    watchedTrace('@rdmc/hipower:write'),
    watchedTrace('@rdmc/hipower:end'),
  ];
  const nodes = await HiPowerNode.loopback(2, { windowMs: 0 });
  const [requester, responder] = await Promise.all([
    nodes[0]!.createRequester({ channel: 'a', to: 1 }),
    nodes[1]!.createResponder({ channel: 'a', from: 0 }),
  ]);
  expect(creations).toEqual([
    { role: 'requester', channel: 'a', node: 0, peers: [1], result: requester },
    { role: 'responder', channel: 'a', node: 1, peers: [0], result: responder },
  ]);
  await requester.write(new Uint8Array(10));
  const error = await rejection(requester.write(new Uint8Array(requester.maxMessageBytes + 1)));
  expect(writes).toEqual([
    { channel: 'a', byteLength: 10, result: undefined },
    { channel: 'a', byteLength: requester.maxMessageBytes + 1, error },
  ]);
  const ending = requester.end();
  for await (const message of responder) message.release();
  await Promise.all([ending, responder.close()]);
  expect(ends).toEqual([{ channel: 'a', result: undefined }]);
  await nodes.close();
});
