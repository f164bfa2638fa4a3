// Three nodes in one process: node 0 multicasts a message to nodes 1 and 2.
import { RdmcNode } from '@rdmc/group';

const nodes = await RdmcNode.loopback(3);

async function run(node) {
  const group = await node.createGroup({ id: 7, members: [0, 1, 2] }); // the first one is the root
  const texts = [];
  if (group.isRoot) await group.send(Buffer.from('hello, everybody'));
  else {
    for await (const message of group) {
      texts.push(Buffer.from(message.view).toString());
      message.release();
    }
  }
  await group.close(); // resolves only if every message reached every member
  return `node ${node.id} received: ${texts.join() || 'nothing, it is the root'}`;
}

const lines = await Promise.all(nodes.map(run));
console.log(lines.join('\n'));
await nodes.close();
