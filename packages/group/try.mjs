import { RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh';
const n = Number(process.argv[2] ?? 2), size = Number(process.argv[3] ?? 1000), count = Number(process.argv[4] ?? 3);
const r = await reserveLoopbackPorts(n);
const members = r.map(({host,port},id)=>({id,host,port}));
const nodes = await Promise.all(r.map(({server},id)=>RdmcNode.join({id,members,server,windowMs:0, device: {device:'soft', transport: process.env.T ?? 'auto'}})));
console.log('joined');
const groups = await Promise.all(nodes.map(node=>node.createGroup({id:7,members:members.map(m=>m.id), algorithm: process.argv[5]})));
console.log('created');
const region = await nodes[0].allocate(size);
region.view().fill(7);
const t=performance.now();
const recv = groups.slice(1).map(async (g)=>{ let c=0; for await (const m of g){ c++; if (m.view[0]!==7||m.view[m.sizeBytes-1]!==7) throw new Error('bad'); m.release(); } return c;});
for (let i=0;i<count;i++){ const s=performance.now(); await groups[0].send(region); console.log('sent', performance.now()-s); }
const closes = Promise.all(groups.map(g=>g.close()));
console.log(await Promise.all(recv), performance.now()-t);
await closes; console.log('closed', groups[1]?.progress());
await Promise.all(nodes.map(x=>x.close()));
console.log('done');
