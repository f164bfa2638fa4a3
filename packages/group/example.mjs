// Three nodes in one process: node 0 multicasts a message to nodes 1 and 2.
// On three machines the same code runs in three processes, each with its own id.
import { RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';

const reserved = await reserveLoopbackPorts(3);
const members = reserved.map(({ host, port }, id) => ({ id, host, port }));

async function member(id) {
  const node = await RdmcNode.join({ id, members, server: reserved[id].server });
  const group = await node.createGroup({ id: 7, members: [0, 1, 2] }); // the first one is the root

  if (group.isRoot) {
    const region = await node.allocate(1024 * 1024);
    region.view().fill(42);
    await group.send(region); // resolves when the region may be used again
    await group.close(); // resolves only if every message reached every member
    console.log('the root: sent, and received by all');
  } else {
    for await (const message of group) {
      const sum = message.view.reduce((total, byte) => total + byte, 0);
      console.log(`member ${id}: ${message.byteLength} bytes, sum ${sum}`);
      message.release();
    }
    await group.close();
  }
  await node.close();
}

await Promise.all([member(0), member(1), member(2)]);
