import { Buffer } from 'node:buffer';
import { RdmcNode } from '@rdmc/group';
import { PATIENT, rejection, watchedTrace } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { collect } from './support/cluster.js';

it('traces joins, creations, sends and closes, with their outcomes', async () => {
  const [joins, creations, sends, closes, ends] = [
    watchedTrace('@rdmc/node:join'),
    watchedTrace('@rdmc/group:create'),
    watchedTrace('@rdmc/group:send'),
    watchedTrace('@rdmc/group:close'),
    watchedTrace('@rdmc/node:close'),
  ];
  const nodes = await RdmcNode.loopback(2, { windowMs: 0 });
  expect(joins).toEqual([0, 1].map((id) => ({ id, protocols: ['group'], result: nodes[id]!.node })));
  const members = [0, 1];
  const options = { ...PATIENT, id: 7, members };
  const [root, receiver] = await Promise.all(nodes.map((node) => node.createGroup(options)));
  expect(creations).toMatchObject([0, 1].map((node) => ({ group: 7, node, members })));
  const collecting = collect(receiver!);
  const region = await nodes[0]!.allocate(100);
  await root!.send(Buffer.alloc(10));
  await root!.send(region);
  await root!.send({ region, offset: 90 });
  const refused = await rejection(receiver!.send(region));
  expect(await rejection(root!.send(5 as never))).toMatchObject({ code: 'ERR_RDMC_INVALID_REGION' });
  expect(sends).toEqual([
    ...[10, 100, 10].map((byteLength) => ({ group: 7, node: 0, byteLength, result: undefined })),
    { group: 7, node: 1, byteLength: 100, error: refused },
    expect.objectContaining({ group: 7, node: 0, byteLength: 0 }),
  ]);
  await Promise.all([root!.close(), collecting]);
  expect(closes).toEqual([{ group: 7, node: 0, result: undefined }]);
  await nodes.close();
  expect(ends).toEqual([0, 1].map((id) => ({ id, result: undefined })));
});
