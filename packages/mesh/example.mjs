import { Mesh } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';

// Three members. Here they share a process; on a cluster each runs `Mesh.join` in its own, with the
// same list of hosts and ports, and with a key.
const reserved = await reserveLoopbackPorts(3);
const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
const key = 'use the output of: openssl rand -hex 32';
const [a, b, c] = await Promise.all(
  reserved.map(({ server }, id) => Mesh.join({ id, members, key, server, attributes: { device: 'soft' } })),
);
console.log(`member ${a.id} is connected to ${[...a.peers.keys()].join(' and ')}`);

// Messages: in order between two members, by topic.
const heard = new Promise((resolve) => b.onMessage('greeting', (from, body) => resolve([from, body])));
a.broadcast('greeting', { hello: 'everybody' });
console.log('member 1 heard', JSON.stringify(await heard));

// Requests: the handler's result comes back, or its error.
c.onRequest('square', (_from, x) => x * x);
console.log('7 squared by member 2 is', await a.request(2, 'square', 7));

// Failures: a member that sees one reports it to all others.
const failure = new Promise((resolve) => b.onFailure(resolve));
a.reportFailure(2, 'its queue pair broke');
const { member, reporter, reason } = await failure;
console.log(`member 1 learns from member ${reporter} that member ${member} failed: ${reason}`);

// Leaving is not a failure.
const left = new Promise((resolve) => b.onLeave(resolve));
await a.close();
console.log(`member ${await left} left; known failures: ${[...b.failed.keys()]}`);
await Promise.all([b.close(), c.close()]);
