// Two members in one process, each with a protocol that runs in its data plane's worker; this file is that protocol as well.
import { isMainThread } from 'node:worker_threads';
import { joinMember } from '@rdmc/member';
import { reserveLoopbackPorts } from '@rdmc/mesh';

/** Runs in the worker. */
export default function greetings(context) {
  return { onCommand: (_kind, requestId, name) => context.reply(requestId, name) };
}

async function member(id, members, server) {
  const protocols = [{ name: 'greetings', module: import.meta.url }];
  return joinMember('join', { id, members, server, device: 'soft' }, protocols);
}

if (isMainThread) {
  const reserved = await reserveLoopbackPorts(2);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  const joined = await Promise.all(reserved.map(({ server }, id) => member(id, members, server)));
  for (const { mesh, plane } of joined) {
    const answer = await plane.command('greetings', 1, Buffer.from('hello'));
    const { kind, choice } = plane.device;
    console.log(
      `member ${mesh.id}: ${kind} device (${choice.reason}), its worker says ${Buffer.from(answer)}`,
    );
  }
  await Promise.all(joined.flatMap(({ mesh, plane }) => [mesh.close(), plane.close()]));
}
