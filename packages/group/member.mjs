// One member of a cluster: node member.mjs ID
// The root sends its standard input to all other members, which write it to their standard output.
import { pipeline } from 'node:stream/promises';
import { RdmcNode } from '@rdmc/group';

const id = Number(process.argv[2]);
const { MEMBERS, KEY } = process.env; // the same in all processes
const members = MEMBERS.split(',').map((address, id) => {
  const [host, port] = address.split(':');
  return { id, host, port: Number(port) };
});

const node = await RdmcNode.join({ id, members, key: KEY });
const group = await node.createGroup({ id: 1, members: members.map(({ id }) => id) });
if (group.isRoot) {
  await pipeline(process.stdin, group.writable()); // ends when every member has every byte
  console.error(
    `sent ${group.progress().messagesSent} messages; all ${members.length - 1} receivers have them`,
  );
} else {
  await pipeline(group.readable(), process.stdout);
}
await group.close();
await node.close();
