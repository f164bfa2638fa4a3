// Members of a cluster for benchmarks, each in its own process; this process is one of them.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Node } from '@rdmc/node';
import { tailwind } from '@rdmc/tailwind';
import { Backup } from '@rdmc/tailwind/backup';

export const CLUSTER = '00112233-4455-6677-8899-aabbccddeeff';

/** Joins as a member with a backup. */
export async function joinCluster({ id, members, directory, buffers, server }) {
  const protocols = { logs: tailwind() };
  const node = await Node.join({ id, members, silenceTimeoutMs: 0, ...(server && { server }), protocols });
  const { mesh, logs, protectionDomain } = node;
  const backup = await Backup.open({ protectionDomain, directory, clusterId: CLUSTER, buffers });
  logs.serve(backup);
  const close = async () => {
    await logs.close();
    await backup.close();
    await node.close();
  };
  return { mesh, logs, close };
}

/** Members 0 to n − 1: `own` here, the others run `program` with BENCH_MEMBER set and report when they are ready. */
export async function startMembers(program, n, own, buffers = 16) {
  const reserved = await reserveLoopbackPorts(n);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  const root = mkdtempSync(join(tmpdir(), 'tailwind-bench-'));
  const children = new Map();
  const ready = [];
  for (const { id } of members) {
    if (id === own) continue;
    reserved[id].server.close();
    const setup = { id, members, directory: join(root, String(id)), buffers };
    const child = fork(program, process.argv.slice(2), {
      env: { ...process.env, BENCH_MEMBER: JSON.stringify(setup) },
    });
    // A member that fails has printed why; without it, the others would wait for ever.
    child.once('exit', (code) => code && process.exit(code));
    children.set(id, child);
    ready.push(once(child, 'message'));
  }
  const directory = join(root, String(own));
  const here = await joinCluster({ id: own, members, directory, buffers, server: reserved[own].server });
  await Promise.all(ready);
  const end = async () => {
    for (const child of children.values()) if (child.connected) child.disconnect();
    await here.close();
    rmSync(root, { recursive: true });
  };
  return { ...here, children, end };
}

/** For the other processes: a backup until the parent ends. */
export async function runMember() {
  const member = await joinCluster(JSON.parse(process.env.BENCH_MEMBER));
  process.on('disconnect', () => process.exit());
  process.send({ ready: true });
  return member;
}
