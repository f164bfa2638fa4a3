import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('a process ends by itself with nodes that were unref’d, and not before', () => {
  const program = `
    import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
    import { nodeProtocol, Node } from '@rdmc/node';
    import { recordTable } from '@rdmc/dataplane';
    const worker = new URL('data:text/javascript,export default{records:{commands:{},events:{}},start:()=>({commands:{}})}');
    const records = recordTable({ commands: {}, events: {} });
    const application = (context) => { context.connect({}); return {}; };
    const idle = nodeProtocol({ name: 'idle', version: 1, records, worker, application });
    const reserved = await reserveLoopbackPorts(2);
    const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
    const join = ({ server }, id) => Node.join({ id, members, server, device: 'soft', protocols: { idle } });
    const nodes = await Promise.all(reserved.map(join));
    for (const node of nodes) node.unref();
    nodes[0].ref();
    process.once('beforeExit', () => console.log('nothing keeps it alive'));
    setTimeout(() => {
      console.log('it is alive');
      nodes[0].unref();
    }, 0).unref();
  `;
  const args = ['--input-type=module', '-e', program];
  const printed = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    cwd: import.meta.dirname,
    timeout: 120_000,
  });
  expect(printed).toBe('it is alive\nnothing keeps it alive\n');
});
