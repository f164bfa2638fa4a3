import { describe, expect, it } from 'vitest';
import { Mesh, type MeshLogger, type MeshOptions } from '../src/index.js';
import { assertWhole, form, KEY, place, rejection, until } from './helpers.js';

describe('with a cluster key', () => {
  it('every connection is TLS 1.3', async () => {
    const { meshes, cores } = await form(3, { key: KEY });
    const protocols = cores.flatMap((core) => [...core.links.values()].map((link) => link.protocol));
    expect(protocols).toEqual(Array(6).fill('TLSv1.3'));
    await assertWhole(meshes);
  });

  it('text and its UTF-8 bytes are the same key', async () => {
    const where = await place(2);
    const sides = [where.join(0, { key: KEY }), where.join(1, { key: new TextEncoder().encode(KEY) })];
    await assertWhole(await Promise.all(sides.map(({ mesh }) => mesh)));
  });

  it('derives the same secret on every member, another per label', async () => {
    const { meshes } = await form(2, { key: KEY });
    const [a, b] = meshes as [Mesh, Mesh];
    expect(a.secret('x')).toHaveLength(32);
    expect(a.secret('x')).toEqual(b.secret('x'));
    expect(a.secret('x')).not.toEqual(a.secret('y'));
    expect(a.secret('x')?.toString()).not.toContain(KEY);
    const clear = await form(1, { insecure: true });
    expect(clear.meshes[0]!.secret('x')).toBeUndefined();
  });

  it('another key: refused at once where it dials, named on time-out where it is dialled', async () => {
    const where = await place(2);
    const dialled = where.join(0, { key: KEY, timeoutMs: 20_000 });
    const dialling = where.join(1, { key: `${KEY}!` });
    expect((await rejection(dialling.mesh)).code).toBe('ERR_RDMC_MESH_WRONG_KEY');
    const error = await rejection(dialled.mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_TIMEOUT');
    expect(error.cause).toMatchObject({ code: 'ERR_RDMC_MESH_WRONG_KEY' });
    expect(error.message).toContain('used another key');
  });

  it.each<[string, Partial<MeshOptions>, Partial<MeshOptions>]>([
    ['no key at all dials a key', { key: KEY }, { insecure: true }],
    ['a key dials no key at all', { insecure: true }, { key: KEY }],
    ["a key dials the user's", {}, { key: KEY }],
    ["the user's key dials a key", { key: KEY }, {}],
    ["no key at all dials the user's", {}, { insecure: true }],
  ])('%s: refused at once', async (_name, low, high) => {
    const where = await place(2);
    const dropped: string[] = [];
    const logger: MeshLogger = { warn: (details) => dropped.push((details as { code: string }).code) };
    where.join(0, { ...low, logger });
    const error = await rejection(where.join(1, high).mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_WRONG_KEY');
    expect(error.message).toContain('give both ends the same key');
    await until(() => dropped.length > 0);
    expect(dropped).toEqual(['ERR_RDMC_MESH_WRONG_KEY']);
  });

  it('versions that differ are named inside TLS too', async () => {
    const where = await place(2);
    const sides = [where.join(0, { key: KEY }), where.join(1, { key: KEY }, { protocolVersion: 300 })];
    for (const { mesh } of sides) {
      const error = await rejection(mesh);
      expect(error.code).toBe('ERR_RDMC_MESH_VERSION');
      expect(error.message).toMatch(/version 300\b.*version 5\b|version 5\b.*version 300\b/);
    }
  });

  it.each(['fifteen bytes !!', new Uint8Array(15)])('a short key is refused', async (key) => {
    const bytes = typeof key === 'string' ? key.slice(0, 15) : key;
    const where = await place(1);
    expect((await rejection(where.join(0, { key: bytes }).mesh)).code).toBe('ERR_RDMC_MESH_WEAK_KEY');
  });
});

describe('without a cluster key', () => {
  const outside = [
    { id: 0, host: '127.0.0.1', port: 5000 },
    { id: 1, host: '192.0.2.1', port: 5001 },
  ];

  it('refuses a member beyond loopback, and names it', async () => {
    const error = await rejection(Mesh.join({ id: 0, members: outside }));
    expect(error.code).toBe('ERR_RDMC_MESH_KEY_REQUIRED');
    expect(error.message).toContain('192.0.2.1:5001');
  });

  it('refuses a listening address and a server beyond loopback', async () => {
    const where = await place(1);
    for (const host of ['0.0.0.0', '::']) {
      expect((await rejection(where.join(0, { listenHost: host }).mesh)).code).toBe(
        'ERR_RDMC_MESH_KEY_REQUIRED',
      );
    }
    const server = where.reserved[0]!.server;
    await new Promise((resolve) => server.close(resolve));
    await new Promise<void>((resolve) => server.listen(where.members[0]!.port, '0.0.0.0', resolve));
    expect((await rejection(where.join(0).mesh)).code).toBe('ERR_RDMC_MESH_KEY_REQUIRED');
    expect(server.listening).toBe(false);
  });

  it.each<Partial<MeshOptions>>([{ insecureListenBeyondLoopback: true }, { key: KEY }])(
    'is possible beyond loopback with %j',
    async (options) => {
      const where = await place(2);
      const sides = where.reserved.map(async ({ server, port }, id) => {
        await new Promise((resolve) => server.close(resolve));
        await new Promise<void>((resolve) => server.listen(port, '0.0.0.0', resolve));
        return where.join(id, options).mesh;
      });
      await assertWhole(await Promise.all(sides));
    },
  );
});
