import { Mesh } from '@rdmc/mesh';

// Here the members share a process; on a cluster each has its own, a fixed port, and a key.
const key = 'use the output of: openssl rand -hex 32';
const listen = { host: '127.0.0.1', port: 0 };
const first = await Mesh.join({ id: 1, join: [], listen, key });
const { host, port } = first.members[0];
const contact = `${host}:${port}`;

// Events come in order: a connection has ended before the next one of the same member is reported.
const seen = [];
first.onMember(({ type, member, incarnation }) => seen.push(`member ${member}.${incarnation} ${type}`));
const until = async (count) => {
  while (seen.length < count) await new Promise((resolve) => setImmediate(resolve));
};

// A newcomer needs the address of one member.
const second = await Mesh.join({ id: 2, join: [contact], listen, key });
await until(1);
console.log('members:', first.members.map(({ id }) => id).join(', '));

// An id belongs to one process. A newcomer does not take it from a process that answers.
const { code, holder } = await Mesh.join({ id: 2, join: [contact], listen, key }).catch((error) => error);
console.log(code, holder.pid === process.pid);

// Where that is wanted, the older process stops.
const third = await Mesh.join({ id: 2, join: [contact], listen, key, replace: true });
await second.closed;
console.log(`incarnation ${second.incarnation}: ${second.signal.reason.code}`);

await until(3);
await third.close();
await until(4);
console.log(seen.join('; '));
await first.close();
