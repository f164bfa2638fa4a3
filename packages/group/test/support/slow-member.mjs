// Member 1 of many groups, one after the other, in a thread that is busy most of the time, so that it handles events late
// and many at once. Posts the number of its messages.
import { parentPort, workerData } from 'node:worker_threads';
import { RdmcNode } from '@rdmc/group';

const { members, groups, busyMs } = workerData;

const busy = setInterval(() => {
  const until = performance.now() + busyMs;
  while (performance.now() < until);
}, 1);

const node = await RdmcNode.join({ id: 1, members, windowMs: 0, device: 'soft' });
let received = 0;
for (let id = 1; id <= groups; id += 1) {
  const group = await node.createGroup({ id, members: [0, 1], retryTimeoutMs: 60_000 });
  for await (const message of group) {
    received += 1;
    message.release();
  }
  await group.close();
}
clearInterval(busy);
parentPort.postMessage({ received });
await node.close();
