// Member 1 of many groups after one another, in a thread that hears of things late and all at once: it is busy most of
// the time. Tells how many messages it has had.
import { parentPort, workerData } from 'node:worker_threads';
import { RdmcNode } from '@rdmc/group';

const { members, groups, busyMs } = workerData;

const busy = setInterval(() => {
  const until = performance.now() + busyMs;
  while (performance.now() < until);
}, 1);

const node = await RdmcNode.join({ id: 1, members, device: { device: 'soft' } });
let received = 0;
for (let id = 1; id <= groups; id += 1) {
  const group = await node.createGroup({ id, members: [0, 1] });
  for await (const message of group) {
    received += 1;
    message.release();
  }
  await group.close();
}
clearInterval(busy);
parentPort.postMessage({ received });
await node.close();
