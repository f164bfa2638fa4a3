import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { membersAt, PATIENT } from '@rdmc/testing';
import { expect, it } from 'vitest';

const GROUPS = 6;
/** Longer than a root needs to detect that all are connected, and to send. */
const BUSY_MS = 60;

it('takes blocks that arrive before the application knows that its group exists', async () => {
  const [own, other] = await reserveLoopbackPorts(2);
  const members = membersAt([own!, other!]);
  // A listening socket cannot be passed to a thread.
  await new Promise((resolve) => other!.server.close(resolve));
  const slow = new Worker(join(import.meta.dirname, 'support/slow-member.mjs'), {
    execArgv: [],
    workerData: { members, groups: GROUPS, busyMs: BUSY_MS },
  });
  const answer = once(slow, 'message') as Promise<[{ received: number }]>;
  const left = once(slow, 'exit');
  const node = await RdmcNode.join({ id: 0, members, server: own!.server, windowMs: 0, device: 'soft' });
  const region = await node.allocate(4096);
  for (let id = 1; id <= GROUPS; id += 1) {
    const group = await node.createGroup({ ...PATIENT, id, members: [0, 1] });
    await group.send({ region, offset: 0, byteLength: 1000 });
    await group.close();
  }
  expect((await answer)[0].received).toBe(GROUPS);
  await left;
  await region.close();
  await node.close();
});
