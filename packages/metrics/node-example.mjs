// The metrics of three nodes, one of which sends a message to the others.
import { RdmcNode } from '@rdmc/group';
import { Metrics } from '@rdmc/metrics';

const metrics = new Metrics({ watchNodes: true });
const nodes = await RdmcNode.loopback(3);
const members = [0, 1, 2];
const [root] = await Promise.all(nodes.map((node) => node.createGroup({ id: 7, members })));
await root.send(Buffer.alloc(5000));
await root.close();

const shown = /^rdmc_nodes |connected|_count.*group:send/;
for (const line of metrics.text().split('\n')) if (shown.test(line)) console.log(line);

await nodes.close();
metrics.close();
