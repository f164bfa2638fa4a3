import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { descriptorOf, underTest, WatchedProcess } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import type { MeshFailure, MeshOptions } from '../src/index.js';
import { failureOf, KEY, leaveOf, type Place, place, until } from './helpers.js';

// Built code: a child process cannot load TypeScript. `npm run build -w @rdmc/mesh` comes first.
const fixture = fileURLToPath(new URL('fixtures/member.mjs', import.meta.url));
/** For who does not come at all. */
const JOIN_MS = 120_000;

type Member = WatchedProcess<MeshFailure, 'member'>;

/** Starts a member that inherits its listening socket as descriptor 4 (3 is the channel to it). */
function spawnMember(where: Place, id: number, options: Partial<MeshOptions> = {}): Member {
  const { server } = where.reserved[id]!;
  const all = { id, members: where.members, server: { fd: 4 }, timeoutMs: JOIN_MS, ...options };
  const stdio = ['ignore', 'pipe', 'pipe', 'ipc', descriptorOf(server)] as const;
  const child = fork(fixture, [JSON.stringify(all)], { stdio: [...stdio] });
  server.close();
  return underTest(new WatchedProcess<MeshFailure, 'member'>(child, 'member', { name: `member ${id}` }));
}

describe('members in processes of their own', () => {
  it.each([undefined, KEY])(
    'kill -9: every survivor learns by the end of its connection, and names it, key %s',
    async (key) => {
      const where = await place(4);
      // Nobody counts as silent: no time-out can bring the news.
      const options = { key, silenceTimeoutMs: 0 };
      const processes = [1, 2, 3].map((id) => spawnMember(where, id, options));
      const mesh = await where.join(0, { ...options, timeoutMs: JOIN_MS }).mesh;
      // An answer means that this member's join has resolved as well.
      await Promise.all([1, 2, 3].map((id) => mesh.request(id, 'failed', null)));
      const news = [failureOf(mesh, 2), processes[0]!.event(2), processes[2]!.event(2)];
      processes[1]!.signal('SIGKILL');
      const failures = await Promise.all(news);
      for (const failure of failures) {
        expect(failure).toMatchObject({ member: 2, code: 'ERR_RDMC_MESH_MEMBER_LOST' });
      }
      expect(await mesh.request(1, 'failed', null)).toMatchObject([{ member: 2 }]);
      expect(await mesh.request(3, 'failed', null)).toMatchObject([{ member: 2 }]);
    },
  );

  // A silence limit is more than a busy machine keeps a process that runs from its processor.
  const SILENCE_MS = 8_000;

  it('SIGSTOP shorter than the others wait is no failure, and the stopped one blames nobody', async () => {
    const where = await place(2);
    // It would call silent what it itself could not hear while it was stopped.
    const child = spawnMember(where, 1, { heartbeatMs: 50, silenceTimeoutMs: SILENCE_MS });
    const { mesh: joining, core } = where.join(0, {
      heartbeatMs: 20,
      silenceTimeoutMs: 600_000,
      timeoutMs: JOIN_MS,
    });
    const mesh = await joining;
    await mesh.request(1, 'failed', null);
    child.signal('SIGSTOP');
    await until(() => core.links.get(1)!.silentMs > 1.25 * SILENCE_MS);
    child.signal('SIGCONT');
    expect(await mesh.request(1, 'failed', null)).toEqual([]);
    await until(() => core.links.get(1)!.silentMs === 0);
    expect(mesh.failed.size).toBe(0);
  });

  it('SIGSTOP longer than that is a failure, and the stopped one learns it when it goes on', async () => {
    const where = await place(3);
    const child = spawnMember(where, 2, { heartbeatMs: 50, silenceTimeoutMs: 600_000 });
    const options = { heartbeatMs: 50, silenceTimeoutMs: SILENCE_MS, timeoutMs: JOIN_MS };
    const [zero, one] = await Promise.all([0, 1].map((id) => where.join(id, options).mesh));
    await Promise.all([zero!, one!].map((mesh) => mesh.request(2, 'failed', null)));
    const evicted = [child.event(0), child.event(1)];
    child.signal('SIGSTOP');
    for (const failure of await Promise.all([failureOf(zero!, 2), failureOf(one!, 2)])) {
      expect(failure.code).toBe('ERR_RDMC_MESH_MEMBER_SILENT');
    }
    child.signal('SIGCONT');
    for (const failure of await Promise.all(evicted)) expect(failure.code).toBe('ERR_RDMC_MESH_EVICTED');
  });

  it('a process that closes its mesh exits by itself, and has left', async () => {
    const where = await place(2);
    const child = spawnMember(where, 1);
    const mesh = await where.join(0, { timeoutMs: JOIN_MS }).mesh;
    mesh.send(1, 'leave', null);
    await leaveOf(mesh, 1);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(mesh.failed.size).toBe(0);
  });
});
