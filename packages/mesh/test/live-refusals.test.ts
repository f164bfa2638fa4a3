import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { syncedDirectories, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import type { LiveMeshOptions, MeshConnection } from '../src/index.js';
import { joinMesh } from '../src/mesh.js';
import { assertWhole, KEY, place, rejection, thrown, until } from './helpers.js';
import { converged, enter, grow, joining } from './live-helpers.js';

describe('a joiner of another mesh is refused, and told what differs', () => {
  it.each([undefined, 'another key, also of more than sixteen bytes'])('the key: %s', async (key) => {
    const a = await enter(0, [], { key: KEY });
    const error = await rejection(joining(1, [a], key === undefined ? {} : { key }).mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_WRONG_KEY');
    expect(a.mesh.members.length).toBe(1);
  });

  it('the cluster id', async () => {
    const a = await enter(0, [], { clusterId: 'red' });
    const error = await rejection(joining(1, [a], { clusterId: 'blue' }).mesh);
    expect(error).toMatchObject({ code: 'ERR_RDMC_MESH_OTHER_CLUSTER', category: 'refused' });
    expect(error.message).toContain("'red'");
    expect((await enter(1, [a], { clusterId: 'red' })).mesh.id).toBe(1);
  });

  it('the version of the protocol, with both in the message', async () => {
    const a = await enter(0, []);
    const error = await rejection(joining(1, [a], {}, { protocolVersion: 2 }).mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_VERSION');
    expect(error.message).toMatch(/version 5\b/);
    expect(error.message).toMatch(/version 2\b/);
  });

  it('levels of which none is common, by both ends; a range with one in common is known to both', async () => {
    const a = await enter(0, [], {}, { levels: { least: 1, most: 2 } });
    const refused = await rejection(joining(1, [a], {}, { levels: { least: 3, most: 4 } }).mesh);
    expect(refused).toMatchObject({ code: 'ERR_RDMC_MESH_VERSION', category: 'refused' });
    expect(refused.message).toContain('speaks levels 3 to 4, this member levels 1 to 2');
    const b = await enter(1, [a], {}, { levels: { least: 2, most: 3 } });
    await converged([a, b]);
    expect(a.mesh.peers.get(1)!.levels).toEqual({ least: 2, most: 3 });
    expect(b.mesh.peers.get(0)!.levels).toEqual({ least: 1, most: 2 });
    const accepted = new Promise<MeshConnection>((resolve) => a.mesh.onConnection('test', resolve));
    const opened = await b.mesh.openConnection(0, 'test');
    expect([opened.level, (await accepted).level]).toEqual([2, 2]);
    await b.mesh.close();
    await until(() => a.mesh.peers.get(1)?.levels === undefined);
  });

  it('a fixed list on one side', async () => {
    const a = await enter(0, []);
    const where = await place(2);
    const members = [{ id: 0, host: '127.0.0.1', port: Number(a.address.split(':')[1]) }, where.members[1]!];
    const listed = joinMesh(
      { id: 1, members, server: where.reserved[1]!.server, insecure: true, timeoutMs: 60_000 },
      {},
    );
    expect((await rejection(listed)).code).toBe('ERR_RDMC_MESH_MEMBERS_DIFFER');
    const { mesh } = where.join(0, { insecure: true });
    const { port } = where.members[0]!;
    const error = await rejection(joining(1, [`127.0.0.1:${port}`]).mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_MEMBERS_DIFFER');
    mesh.catch(() => {});
  });
});

describe('a joiner that examines its introducer', () => {
  it('refuses it before any other member knows of the joiner, and gets its own error', async () => {
    const [a, b] = await grow(2, { attributes: { kind: 'red' } });
    const own = new Error('it is red');
    const seen: unknown[] = [];
    const examine = (introducer: unknown): void => {
      seen.push(introducer);
      throw own;
    };
    await expect(joining(2, [a!], { examine }).mesh).rejects.toBe(own);
    expect(seen).toEqual([{ id: 0, attributes: { kind: 'red' } }]);
    expect([a!, b!].map(({ mesh }) => mesh.members.length)).toEqual([2, 2]);
    expect(a!.events.length).toBe(1);
    const next = await enter(2, [a!], { examine: () => {} });
    expect(next.mesh.incarnation).toBe(1);
  });
});

describe('the directory', () => {
  it('keeps the incarnation, also where nobody else knows it', async () => {
    const parent = temporaryDirectory();
    const directory = join(parent, 'state');
    const synced = await syncedDirectories();
    const first = await enter(4, [], { directory });
    // Backups keep their files in the same directory.
    expect(synced).toEqual(new Set([parent, directory]));
    await first.mesh.close();
    const second = await enter(4, [], { directory });
    expect([first.mesh.incarnation, second.mesh.incarnation]).toEqual([1, 2]);
    expect(readFileSync(join(directory, 'incarnation-4'), 'utf8')).toBe('2\n');
  });

  it('and the roster: the higher one counts', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'incarnation-1'), '7\n');
    const [a] = await grow(1);
    const b = await enter(1, [a!], { directory });
    expect(b.mesh.incarnation).toBe(8);
    await converged([a!, b]);
    await b.mesh.close();
    writeFileSync(join(directory, 'incarnation-1'), '2\n');
    const again = await enter(1, [a!], { directory });
    expect(again.mesh.incarnation).toBe(9);
    await converged([a!, again]);
    await assertWhole([a!.mesh, again.mesh]);
  });

  it.each(['', 'x', '0', '-1', '1.5'])('with the text %j is refused', async (text) => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'incarnation-1'), text);
    const error = await rejection(joining(1, [], { directory }).mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_DIRECTORY');
    expect(error.message).toContain(directory);
  });

  it('that is a file is refused', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    expect((await rejection(joining(1, [], { directory: file }).mesh)).code).toBe('ERR_RDMC_MESH_DIRECTORY');
  });
});

describe('options', () => {
  const wrong: [string, object, RegExp][] = [
    ['no port', { join: ['localhost'] }, /join\[0\].*localhost.*host:port/],
    ['a port of 0', { join: ['localhost:0'] }, /join\[0\]/],
    ['a number', { join: [7000] }, /join\[0\]/],
    ['no array', { join: 'localhost:1' }, /join: needed an array/],
    ['no address', { join: [], listen: { host: '', port: 1 } }, /listen\.host/],
    ['a list as well', { join: [], members: [] }, /omit one of them/],
    ['a misspelt option', { join: [], cluster: 'x' }, /cluster/],
    ['a wrong id', { join: [], id: -1 }, /id/],
    ['a wrong cluster id', { join: [], clusterId: 7 }, /clusterId/],
    ['an examiner that is not a function', { join: [], examine: true }, /examine/],
  ];
  it.each(wrong)('%s', async (_name, more, reason) => {
    const options = { id: 1, insecure: true, listen: { host: '127.0.0.1', port: 0 }, ...more };
    const error = await rejection(joinMesh(options as LiveMeshOptions, {}));
    expect(error.code).toBe('ERR_RDMC_MESH_INVALID_OPTION');
    expect(error.message).toMatch(reason);
  });

  it('a contact or an own address beyond loopback needs a key', async () => {
    for (const more of [{ join: ['10.0.0.1:7000'] }, { join: [], listen: { host: '10.0.0.1', port: 0 } }]) {
      const options = { id: 1, insecure: true, listen: { host: '127.0.0.1', port: 0 }, ...more };
      expect((await rejection(joinMesh(options, {}))).code).toBe('ERR_RDMC_MESH_KEY_REQUIRED');
    }
  });

  it('only the own address to join through', async () => {
    const where = await place(1);
    const { host, port } = where.members[0]!;
    const options = { server: where.reserved[0]!.server, listen: { host, port } };
    const error = await rejection(joining(1, [`${host}:${port}`], options).mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_INVALID_OPTION');
  });

  it('remove needs another member, and a mesh without a fixed list', async () => {
    const [a] = await grow(2);
    expect(thrown(() => a!.mesh.remove(0)).code).toBe('ERR_RDMC_MESH_INVALID_ARGUMENT');
    expect(thrown(() => a!.mesh.remove(9)).code).toBe('ERR_RDMC_MESH_INVALID_ARGUMENT');
  });
});
