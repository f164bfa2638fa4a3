import { connect } from 'node:net';
import { pipeline } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Mesh } from '../src/index.js';
import { reserveLoopbackPorts } from '../src/loopback.js';
import { assertWhole, form, KEY, place, rejection, until } from './helpers.js';

describe('join', () => {
  it('connects a mesh of one at once', async () => {
    const { meshes } = await form(1);
    expect(meshes[0]!.peers.size).toBe(0);
  });

  it('connects every pair over IPv4 and tells ids, addresses and attributes', async () => {
    const where = await place(3);
    const joinings = where.members.map(({ id }) =>
      where.join(id, { attributes: { device: `d${id}`, cores: id } }),
    );
    const meshes = await Promise.all(joinings.map(({ mesh }) => mesh));
    for (const mesh of meshes) {
      expect(mesh.members).toEqual(where.members);
      expect([...mesh.peers.keys()]).toEqual([0, 1, 2].filter((id) => id !== mesh.id));
      for (const peer of mesh.peers.values()) {
        expect(peer.attributes).toEqual({ device: `d${peer.id}`, cores: peer.id });
        expect(peer.address).toEqual({ host: '127.0.0.1', port: where.members[peer.id]!.port });
        expect(peer.state).toBe('connected');
      }
    }
    await assertWhole(meshes);
  });

  it.each([undefined, KEY])('connects over IPv6, key %s', async (key) => {
    const { meshes } = await form(3, { key }, '::1');
    await assertWhole(meshes);
  });

  it('joins by the name localhost, listening for itself', async () => {
    const reserved = await reserveLoopbackPorts(2);
    await Promise.all(reserved.map(({ server }) => new Promise((resolve) => server.close(resolve))));
    const members = reserved.map(({ port }, id) => ({ id, host: 'localhost', port }));
    const meshes = await Promise.all(members.map(({ id }) => Mesh.join({ id, members, timeoutMs: 60_000 })));
    await assertWhole(meshes);
    await Promise.all(meshes.map((mesh) => mesh.close()));
  });

  it.each([
    ['ascending', [0, 1, 2, 3, 4, 5, 6, 7]],
    ['descending', [7, 6, 5, 4, 3, 2, 1, 0]],
    ['mixed', [3, 7, 0, 5, 1, 6, 2, 4]],
  ])('takes 8 members in %s order, each when the one before waits', async (_name, order) => {
    const where = await place(8);
    const joining = [];
    for (const id of order) {
      const { mesh, core } = where.join(id);
      joining.push(mesh);
      const started = joining.length;
      // All pairs among those that have started, so that the next really comes later.
      if (started < 8) await until(() => core.links.size === started - 1);
    }
    const meshes = await Promise.all(joining);
    await assertWhole(meshes);
  });

  it('resolves nowhere before the last pair is connected', async () => {
    const where = await place(3);
    const first = where.join(0);
    const second = where.join(1);
    await until(() => first.core.links.size === 1 && second.core.links.size === 1);
    expect([first.core.phase, second.core.phase]).toEqual(['gathering', 'gathering']);
    const third = where.join(2);
    await Promise.all([first.mesh, second.mesh, third.mesh]);
    expect([first, second, third].map(({ core }) => core.phase)).toEqual(['formed', 'formed', 'formed']);
  });

  it('resolves nowhere while a pair of others is missing', async () => {
    const where = await place(3);
    // Member 1 listens elsewhere: whoever dials its listed port is turned away, until a relay stands there.
    const [elsewhere] = await reserveLoopbackPorts(1);
    const sides = [where.join(0), where.join(1, { server: elsewhere!.server }), where.join(2)];
    const zero = sides[0]!;
    await until(() => zero.core.links.size === 2);
    await until(() => sides.slice(1).every(({ core }) => core.links.has(0)));
    expect(sides.map(({ core }) => core.phase)).toEqual(['ready', 'gathering', 'gathering']);
    const listed = where.reserved[1]!.server;
    listed.removeAllListeners('connection');
    listed.on('connection', (socket) => {
      const onward = connect(elsewhere!.port, elsewhere!.host);
      pipeline(socket, onward, socket, () => {});
    });
    await assertWhole(await Promise.all(sides.map(({ mesh }) => mesh)));
    await Promise.all(sides.map(({ core }) => core.close()));
  });

  it('names who is missing, where, and the last error', async () => {
    const where = await place(4);
    await new Promise((resolve) => where.reserved[0]!.server.close(resolve));
    // Member 1 waits longer: when it gave up at the same moment, member 2 would rightly name it too.
    const abort = new AbortController();
    const patient = where.join(1, { signal: abort.signal });
    const { mesh, core } = where.join(2, { timeoutMs: 20_000 });
    await until(() => core.links.has(1));
    const error = await rejection(mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_TIMEOUT');
    expect(error.missing?.map(({ id, port }) => [id, port])).toEqual([
      [0, where.members[0]!.port],
      [3, where.members[3]!.port],
    ]);
    expect(error.missing?.[0]?.lastError).toContain('ECONNREFUSED');
    expect(error.message).toContain(`member 0 at 127.0.0.1:${where.members[0]!.port}`);
    expect(error.message).toContain(`member 3 at 127.0.0.1:${where.members[3]!.port}`);
    expect(error.message).not.toContain(`:${where.members[1]!.port}`);
    abort.abort(new Error('enough'));
    expect((await rejection(patient.mesh)).code).toBe('ERR_RDMC_ABORTED');
  });

  it('goes on waiting when a member gives up on its own time-out, and takes it when it comes again', async () => {
    const where = await place(3);
    const patient = where.join(0);
    expect((await rejection(where.join(1, { timeoutMs: 50 }).mesh)).code).toBe('ERR_RDMC_MESH_TIMEOUT');
    const again = where.join(1, { server: undefined });
    const last = where.join(2);
    await assertWhole(await Promise.all([patient.mesh, again.mesh, last.mesh]));
  });

  it('stops when its signal is aborted, and frees the port', async () => {
    const where = await place(2);
    const controller = new AbortController();
    const { mesh } = where.join(0, { signal: controller.signal });
    controller.abort(new Error('enough'));
    const error = await rejection(mesh);
    expect(error).toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED' });
    expect(error.cause).toEqual(new Error('enough'));
    expect(where.reserved[0]!.server.listening).toBe(false);
    const late = where.join(1, { signal: AbortSignal.abort() });
    expect((await rejection(late.mesh)).code).toBe('ERR_RDMC_ABORTED');
    expect(where.reserved[1]!.server.listening).toBe(false);
  });

  it('says when it cannot listen', async () => {
    const where = await place(2);
    const error = await rejection(where.join(0, { server: undefined }).mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_LISTEN_FAILED');
    expect(error.message).toContain(String(where.members[0]!.port));
  });

  it('fails on both sides when the protocol versions differ, and names both', async () => {
    const where = await place(2);
    const sides = [where.join(0, {}, { protocolVersion: 7 }), where.join(1)];
    for (const { mesh } of sides) {
      const error = await rejection(mesh);
      expect(error.code).toBe('ERR_RDMC_MESH_VERSION');
      expect(error.message).toMatch(/version 7\b/);
      expect(error.message).toMatch(/version 5\b/);
    }
  });

  it('fails on both sides when the lists differ, and tells a third soon', async () => {
    const where = await place(4);
    const third = where.join(1);
    const listed = where.join(0);
    await until(() => listed.core.links.size === 1 && third.core.links.size === 1);
    // It reaches only member 0; otherwise the third one might see the difference first, and tell member 0 that it ends.
    const [zero, ...others] = where.members;
    // Nobody listens at these ports.
    const elsewhere = others.map((each) => (each.id === 3 ? each : { ...each, port: each.id }));
    const other = where.join(3, { members: [zero!, ...elsewhere] });
    expect((await rejection(listed.mesh)).code).toBe('ERR_RDMC_MESH_MEMBERS_DIFFER');
    expect((await rejection(other.mesh)).code).toBe('ERR_RDMC_MESH_MEMBERS_DIFFER');
    expect((await rejection(third.mesh)).code).toBe('ERR_RDMC_MESH_JOIN_ABORTED');
  });

  it('takes the same list in another order and spelling', async () => {
    const where = await place(2);
    const sides = [where.join(0, { members: [...where.members].reverse() }), where.join(1)];
    await assertWhole(await Promise.all(sides.map(({ mesh }) => mesh)));
  });

  it('refuses a second process with the same id, and keeps the first', async () => {
    const where = await place(3);
    const zero = where.join(0);
    const first = where.join(2);
    await until(() => zero.core.links.has(2));
    const [spare] = await reserveLoopbackPorts(1);
    const second = where.join(2, { server: spare!.server });
    expect((await rejection(second.mesh)).code).toBe('ERR_RDMC_MESH_DUPLICATE_MEMBER');
    const one = where.join(1);
    await assertWhole(await Promise.all([zero.mesh, one.mesh, first.mesh]));
  });

  it('says when another member listens where one was expected', async () => {
    const where = await place(3);
    // Members 0 and 1 have each other's sockets.
    const abort = new AbortController();
    const swapped = where.join(0, { server: where.reserved[1]!.server, signal: abort.signal });
    const error = await rejection(where.join(2).mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_WRONG_MEMBER');
    expect(error.message).toContain('member 0 listens at the address of member 1');
    abort.abort();
    await rejection(swapped.mesh);
  });

  it('forms again on the same ports after everybody has closed', async () => {
    const first = await form(3);
    await Promise.all(first.meshes.map((mesh) => mesh.close()));
    const again = first.members.map(({ id }) => first.join(id, { server: undefined }));
    await assertWhole(await Promise.all(again.map(({ mesh }) => mesh)));
  });

  it('waits for members that still belong to an earlier mesh', async () => {
    const first = await form(2);
    await first.meshes[1]!.close();
    const early = first.join(1, { server: undefined });
    await first.meshes[0]!.close();
    const late = first.join(0, { server: undefined });
    await assertWhole(await Promise.all([early.mesh, late.mesh]));
  });
});
