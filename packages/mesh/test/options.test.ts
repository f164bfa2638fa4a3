import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Mesh, type MeshOptions } from '../src/index.js';
import { reserveLoopbackPorts } from '../src/loopback.js';
import { isLoopbackHost, membersDigest, validateMembers } from '../src/members.js';
import { rejection } from './helpers.js';

const members = [
  { id: 0, host: '127.0.0.1', port: 5000 },
  { id: 1, host: '127.0.0.1', port: 5001 },
];

function refused(options: unknown): Promise<{ code: string; message: string }> {
  return rejection(Mesh.join(options as MeshOptions));
}

describe('options', () => {
  it.each([
    ['an unknown option', { id: 0, members, timeout: 5 }, 'timeout'],
    ['no options', undefined, 'object of options'],
    ['an id that is not in the list', { id: 2, members }, '2'],
    ['a negative id', { id: -1, members }, '-1'],
    ['no members', { id: 0, members: [] }, 'members'],
    ['port 0', { id: 0, members: [{ id: 0, host: '127.0.0.1', port: 0 }] }, 'port'],
    ['no host', { id: 0, members: [{ id: 0, host: '', port: 1 }] }, 'host'],
    ['an unknown field of a member', { id: 0, members: [{ id: 0, host: 'a', port: 1, x: 1 }] }, 'x'],
    ['an id beyond 31 bits', { id: 0, members: [{ id: 2 ** 31, host: 'a', port: 1 }] }, '2147483648'],
    ['a time-out of zero', { id: 0, members, timeoutMs: 0 }, 'timeoutMs'],
    ['a time-out no timer keeps', { id: 0, members, timeoutMs: 2 ** 31 }, 'timeoutMs'],
    ['silence below three heartbeats', { id: 0, members, heartbeatMs: 100, silenceTimeoutMs: 299 }, '300'],
    ['a frame limit that is too small', { id: 0, members, maxFrameBytes: 100 }, 'maxFrameBytes'],
    ['a server that does not listen', { id: 0, members, server: {} }, 'server'],
    ['an attribute that is no scalar', { id: 0, members, attributes: { a: {} } }, "'a'"],
    ['attributes that are too large', { id: 0, members, attributes: { a: 'x'.repeat(17_000) } }, 'bytes'],
    ['a number as a key', { id: 0, members, key: 7 }, 'key'],
    ['text for a flag', { id: 0, members, insecureListenBeyondLoopback: 'yes' }, 'insecure'],
    ['no signal', { id: 0, members, signal: {} }, 'signal'],
  ])('%s is refused and named', async (_name, options, found) => {
    const error = await refused(options);
    expect(error.code).toBe('ERR_RDMC_MESH_INVALID_OPTION');
    expect(error.message).toContain(found);
  });

  it.each([
    ['an id', [members[0], { id: 0, host: '127.0.0.1', port: 5001 }]],
    ['an address', [members[0], { id: 1, host: '127.0.0.1', port: 5000 }]],
  ])('%s that is given twice is refused', async (_name, list) => {
    expect((await refused({ id: 0, members: list })).code).toBe('ERR_RDMC_MESH_DUPLICATE_MEMBER');
  });

  it('knows loopback in all its spellings', () => {
    const inside = ['localhost', 'LOCALHOST', '127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1'];
    const outside = [
      '127.0.0.1.example.org',
      '128.0.0.1',
      '0.0.0.0',
      '::',
      '::2',
      'fe80::1',
      'localhost.example.org',
    ];
    expect(inside.filter((host) => !isLoopbackHost(host))).toEqual([]);
    expect(outside.filter(isLoopbackHost)).toEqual([]);
  });

  it('the digest depends on the members alone, not on their order', () => {
    const digest = (list: unknown) => membersDigest(validateMembers(list)).toString('hex');
    expect(digest([...members].reverse())).toBe(digest(members));
    expect(digest([{ ...members[0], port: 5002 }, members[1]])).not.toBe(digest(members));
    expect(digest(members.slice(0, 1))).not.toBe(digest(members));
  });

  it('reserves distinct ports that nobody else can take', async () => {
    const reserved = await reserveLoopbackPorts(16);
    expect(new Set(reserved.map(({ port }) => port)).size).toBe(16);
    expect(reserved.every(({ server }) => server.listening)).toBe(true);
    await Promise.all(reserved.map(({ server }) => new Promise((resolve) => server.close(resolve))));
    // Nor does the system give them to anybody while they are on their way to another process.
    const first = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
    if (first > 20_000) expect(Math.max(...reserved.map(({ port }) => port))).toBeLessThan(first);
    expect((await rejection(reserveLoopbackPorts(-1))).code).toBe('ERR_RDMC_MESH_INVALID_OPTION');
  });
});
