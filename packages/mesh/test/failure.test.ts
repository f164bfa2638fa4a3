import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CLOSE_TICKS, CLOSE_TIMEOUT_MS, MOST_CLOSE_MEMBERS } from '../src/constants.js';
import { encodeFailure, encodeFrame, FrameType } from '../src/frames.js';
import type { Mesh, MeshFailure } from '../src/index.js';
import {
  assertWhole,
  failureOf,
  form,
  hide,
  KEY,
  leaveOf,
  place,
  rejection,
  thrown,
  until,
} from './helpers.js';

describe('failure', () => {
  it.each([undefined, KEY])(
    'of one pair is relayed to members with no evidence of their own, key %s',
    async (key) => {
      const { meshes, cores } = await form(4, { key });
      // Member 3 stays well; only member 0 sees its connection end.
      const others = [0, 1, 2].map((id) => failureOf(meshes[id]!, 3));
      const self = failureOf(meshes[3]!, 1);
      cores[3]!.links.get(0)!.dismiss();
      hide(cores[3]!);
      for (const failure of await Promise.all(others)) {
        expect(failure).toMatchObject({ member: 3, reporter: 0, code: 'ERR_RDMC_MESH_MEMBER_LOST' });
      }
      expect(await self).toMatchObject({ code: 'ERR_RDMC_MESH_EVICTED', reporter: 0 });
      expect([...meshes[3]!.failed.keys()].sort()).toEqual([0, 1, 2]);
      expect(meshes[1]!.peers.get(3)!.state).toBe('failed');
      await assertWhole(meshes.slice(0, 3));
    },
  );

  it('is told once, to late listeners too, and can be unsubscribed', async () => {
    const { meshes, cores } = await form(3);
    hide(cores[2]!);
    const seen: MeshFailure[] = [];
    meshes[1]!.onFailure((failure) => seen.push(failure));
    const silent: MeshFailure[] = [];
    meshes[1]!.onFailure((failure) => silent.push(failure)).close();
    meshes[0]!.reportFailure(2, 'its queue pair broke');
    meshes[0]!.reportFailure(2, 'again');
    await failureOf(meshes[1]!, 2);
    meshes[1]!.reportFailure(2, 'seen here too');
    await assertWhole(meshes.slice(0, 2));
    const expected = {
      member: 2,
      reporter: 0,
      code: 'ERR_RDMC_MESH_MEMBER_REPORTED',
      reason: 'its queue pair broke',
    };
    expect(seen).toEqual([expected]);
    expect(silent).toEqual([]);
    expect(await failureOf(meshes[1]!, 2)).toEqual(expected);
    expect(meshes[1]!.failed.get(2)).toEqual(expected);
  });

  it('of a reported member: to it all others are lost before it hears of the first', async () => {
    const { meshes } = await form(4);
    const states: string[][] = [];
    const codes: unknown[] = [];
    const evicted = meshes[3]!;
    evicted.onFailure(() => {
      states.push([0, 1, 2].map((id) => evicted.peers.get(id)!.state));
      for (const id of [0, 1, 2]) codes.push(thrown(() => evicted.send(id, 'topic', 0)).code);
    });
    meshes[0]!.reportFailure(3, 'its queue pair broke');
    await until(() => states.length === 3);
    expect(states).toEqual(Array.from({ length: 3 }, () => ['failed', 'failed', 'failed']));
    expect(new Set(codes)).toEqual(new Set(['ERR_RDMC_MESH_MEMBER_LOST']));
  });

  it('of a reported member reaches that member, which then has nobody', async () => {
    const { meshes } = await form(3);
    const heard = [0, 1].map((id) => failureOf(meshes[2]!, id));
    meshes[0]!.reportFailure(2, 'its queue pair broke');
    for (const failure of await Promise.all(heard)) {
      expect(failure.code).toBe('ERR_RDMC_MESH_EVICTED');
      expect(failure.reason).toContain('member 0 declared this member (2) failed: its queue pair broke');
    }
    expect(thrown(() => meshes[2]!.send(0, 'x', 1)).code).toBe('ERR_RDMC_MESH_MEMBER_LOST');
  });

  it('makes send, request and pending requests fail with the name of the lost member', async () => {
    const { meshes, cores } = await form(3);
    meshes[2]!.onRequest('never', () => new Promise(() => {}));
    const pending = meshes[0]!.request(2, 'never', null);
    const outcome = rejection(pending);
    await meshes[0]!.request(2, 'other', null, { timeoutMs: 1 }).catch(() => {});
    for (const link of cores[2]!.links.values()) link.dismiss();
    const error = await outcome;
    expect(error).toMatchObject({ code: 'ERR_RDMC_MESH_MEMBER_LOST', memberId: 2 });
    expect(thrown(() => meshes[0]!.send(2, 'x', 1)).code).toBe('ERR_RDMC_MESH_MEMBER_LOST');
    expect((await rejection(meshes[0]!.request(2, 'x', 1))).code).toBe('ERR_RDMC_MESH_MEMBER_LOST');
    await failureOf(meshes[1]!, 2);
    meshes[0]!.broadcast('still', 'here');
    await assertWhole(meshes.slice(0, 2));
  });

  it('cannot be reported of oneself, of strangers, or without a reason', async () => {
    const { meshes } = await form(2);
    for (const [member, reason] of [
      [0, 'me'],
      [5, 'who'],
      [1, ''],
    ] as const) {
      expect(thrown(() => meshes[0]!.reportFailure(member, reason)).code).toBe(
        'ERR_RDMC_MESH_INVALID_ARGUMENT',
      );
    }
    await assertWhole(meshes);
  });

  it('news with a malformed code is refused, and blames the one who sent it', async () => {
    const { meshes, cores } = await form(3);
    cores[2]!.links.get(0)!.send(encodeFailure({ member: 1, reporter: 2, code: 'x y', reason: '' }));
    expect((await failureOf(meshes[0]!, 2)).code).toBe('ERR_RDMC_MESH_PROTOCOL');
    expect(meshes[0]!.failed.has(1)).toBe(false);
  });

  it('a listener that throws hurts neither the mesh nor the other listeners', async () => {
    const { meshes } = await form(3);
    const uncaught: unknown[] = [];
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => uncaught.push(error));
    try {
      meshes[1]!.onFailure(() => {
        throw new Error('from a listener');
      });
      meshes[0]!.reportFailure(2, 'test');
      await failureOf(meshes[1]!, 2);
      await until(() => uncaught.length === 1);
      expect(uncaught).toEqual([new Error('from a listener')]);
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of before) process.on('uncaughtException', listener);
    }
    await assertWhole(meshes.slice(0, 2));
  });
});

describe('silence', () => {
  it('is a failure when no sign of life comes', async () => {
    const options = { heartbeatMs: 20, silenceTimeoutMs: 100 };
    const where = await place(3);
    // Member 2 says nothing for longer than the others wait.
    const joinings = [0, 1, 2].map((id) =>
      where.join(id, id === 2 ? { heartbeatMs: 60_000, silenceTimeoutMs: 0 } : options),
    );
    const meshes = (await Promise.all(joinings.map(({ mesh }) => mesh))) as Mesh[];
    const failure = await failureOf(meshes[0]!, 2);
    expect(failure.code).toBe('ERR_RDMC_MESH_MEMBER_SILENT');
    expect(failure.reason).toContain('100 ms');
    await assertWhole(meshes.slice(0, 2));
    expect(meshes[0]!.failed.size).toBe(1);
  });

  it('of a member of a long list is noticed by some, which tell the others', async () => {
    const options = { heartbeatMs: 50, silenceTimeoutMs: 500, insecure: true };
    const { meshes, cores } = await form(MOST_CLOSE_MEMBERS + 2, options);
    const silent = MOST_CLOSE_MEMBERS + 1;
    // In a ring of 18, the close peers are at the distances 1, 2, 4 and 6. All others know that they are distant.
    const close = new Set([16, 0, 15, 1, 13, 3, 11, 5]);
    const distant = cores.slice(0, silent).filter((core) => !close.has(core.options.id));
    await until(() => distant.every((core) => core.links.get(silent)!.isDistant));
    hide(cores[silent]!);
    const failure = await failureOf(meshes[6]!, silent);
    expect(failure.code).toBe('ERR_RDMC_MESH_MEMBER_SILENT');
    expect(failure.reason).toContain('500 ms');
    expect(close).toContain(failure.reporter);
    await assertWhole(meshes.slice(0, silent));
  });

  it('of nobody follows where a member does not know that another one has left', async () => {
    const options = { heartbeatMs: 20, silenceTimeoutMs: 200, insecure: true };
    const { meshes, cores } = await form(MOST_CLOSE_MEMBERS + 2, options);
    // In the ring of the first, the second is at the distance 4; in those of the others at 3, once the third has left.
    const [unaware, neighbour, former] = [7, 11, 10];
    // Before that, a peer that becomes silent stays a close one, and is noticed in the usual time.
    await until(() => cores[unaware]!.links.get(former)!.isDistant);
    cores[former]!.links.get(unaware)!.leave = () => Promise.resolve();
    const others = meshes.filter(({ id }) => id !== former);
    const aware = others.filter(({ id }) => id !== unaware);
    const left = Promise.all(aware.map((mesh) => leaveOf(mesh, former)));
    void meshes[former]!.close();
    await left;
    let heartbeats = 0;
    const link = cores[neighbour]!.links.get(unaware)!;
    const send = link.send.bind(link);
    link.send = (frame) => {
      heartbeats += 1;
      send(frame);
    };
    const { failed } = meshes[unaware]!;
    await until(() => failed.size > 0 || heartbeats >= 20);
    expect([...failed.keys()]).toEqual([]);
    expect(cores[unaware]!.links.has(former)).toBe(true);
  });
});

describe('leaving', () => {
  it.each([undefined, KEY])('is heard as a leave and not as a failure, key %s', async (key) => {
    const { meshes } = await form(3, { key });
    const left = [0, 1].map((id) => leaveOf(meshes[id]!, 2));
    await meshes[2]!.close();
    await Promise.all(left);
    await leaveOf(meshes[0]!, 2);
    expect(meshes.map((mesh) => mesh.failed.size)).toEqual([0, 0, 0]);
    expect(meshes[0]!.peers.get(2)!.state).toBe('left');
    expect(thrown(() => meshes[0]!.send(2, 'x', 1)).code).toBe('ERR_RDMC_MESH_MEMBER_LEFT');
    meshes[0]!.reportFailure(2, 'too late to matter');
    expect(meshes[0]!.failed.size).toBe(0);
    await assertWhole(meshes.slice(0, 2));
  });

  it('delivers what was sent before it', async () => {
    const { meshes } = await form(2);
    const bodies: unknown[] = [];
    meshes[0]!.onMessage('last words', (_from, body) => bodies.push(body));
    const left = leaveOf(meshes[0]!, 1);
    for (let i = 0; i < 200; i++) meshes[1]!.send(0, 'last words', [i, 'x'.repeat(5000)]);
    await meshes[1]!.close();
    await left;
    expect(bodies.length).toBe(200);
  });

  it('delivers it also when this process does not run for longer than a peer may take to read', async () => {
    // The test counts the ticks in which the peer may read: on a busy machine, it needs any number of them.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { meshes } = await form(2);
    const bodies: unknown[] = [];
    meshes[0]!.onMessage('last words', (_from, body) => bodies.push(body));
    const left = leaveOf(meshes[0]!, 1);
    // More than the system takes at once.
    for (let i = 0; i < 20; i++) meshes[1]!.send(0, 'last words', [i, 'x'.repeat(1_000_000)]);
    const closing = meshes[1]!.close();
    const before = Date.now();
    while (Date.now() - before < CLOSE_TIMEOUT_MS + 100);
    // However late, it is one tick.
    vi.advanceTimersByTime(CLOSE_TIMEOUT_MS / CLOSE_TICKS);
    await closing;
    await left;
    expect(bodies.length).toBe(20);
    expect(meshes[0]!.failed.size).toBe(0);
  });

  it('by everybody at once ends quickly and without failures', async () => {
    const { meshes } = await form(4);
    await Promise.all(meshes.map((mesh) => mesh.close()));
    expect(meshes.map((mesh) => mesh.failed.size)).toEqual([0, 0, 0, 0]);
  });

  it('can be asked for twice, rejects what waits, and refuses what comes after', async () => {
    const { meshes } = await form(2);
    meshes[1]!.onRequest('never', () => new Promise(() => {}));
    const pending = rejection(meshes[0]!.request(1, 'never', null));
    const closing = meshes[0]!.close();
    expect(meshes[0]!.close()).toBe(closing);
    await meshes[0]![Symbol.asyncDispose]();
    expect((await pending).code).toBe('ERR_RDMC_MESH_CLOSED');
    expect(thrown(() => meshes[0]!.send(1, 'x', 1)).code).toBe('ERR_RDMC_MESH_CLOSED');
    expect(thrown(() => meshes[0]!.send(0, 'x', 1)).code).toBe('ERR_RDMC_MESH_CLOSED');
    expect(thrown(() => meshes[0]!.broadcast('x', 1)).code).toBe('ERR_RDMC_MESH_CLOSED');
    expect(thrown(() => meshes[0]!.reportFailure(1, 'x')).code).toBe('ERR_RDMC_MESH_CLOSED');
  });
});

describe('a loss while the mesh forms', () => {
  it('before READY only undoes one connection, which is made again', async () => {
    const where = await place(3);
    const [a, b] = [where.join(0), where.join(1)];
    await until(() => a.core.links.size === 1 && b.core.links.size === 1);
    const link = a.core.links.get(1);
    b.core.links.get(0)!.send(encodeFrame(99));
    await until(() => a.core.links.has(1) && a.core.links.get(1) !== link);
    const c = where.join(2);
    await assertWhole(await Promise.all([a.mesh, b.mesh, c.mesh]));
  });

  it('of a member somebody else is ready with ends joining, and names it', async () => {
    const where = await place(3);
    const [a, b] = [where.join(0), where.join(1)];
    await until(() => a.core.links.size === 1 && b.core.links.size === 1);
    b.core.links
      .get(0)!
      .send(encodeFailure({ member: 2, reporter: 1, code: 'ERR_RDMC_MESH_MEMBER_LOST', reason: 'gone' }));
    const error = await rejection(a.mesh);
    expect(error).toMatchObject({ code: 'ERR_RDMC_MESH_MEMBER_LOST', memberId: 2 });
    expect((await rejection(b.mesh)).code).toBe('ERR_RDMC_MESH_JOIN_ABORTED');
  });

  it('a LEAVE from a member that cannot have joined is no leave', async () => {
    const where = await place(3);
    const [a, b] = [where.join(0), where.join(1)];
    await until(() => a.core.links.size === 1 && b.core.links.size === 1);
    const link = a.core.links.get(1)!;
    b.core.links.get(0)!.send(encodeFrame(FrameType.LEAVE));
    await until(() => a.core.links.get(1) !== link && a.core.links.size === 1);
    expect(a.core.leaves.facts.size).toBe(0);
    const c = where.join(2);
    await assertWhole(await Promise.all([a.mesh, b.mesh, c.mesh]));
  });
});
