/** Heirs and connections that fail during a takeover. */
import { Mesh } from '@rdmc/mesh';
import { afterEach, expect, it, vi } from 'vitest';
import { Imports } from '../src/cluster/imports.js';
import { Topic } from '../src/cluster/messages.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

afterEach(() => vi.restoreAllMocks());

it('a takeover begins again at once when an heir fails, before it has its part and when it has all', async () => {
  // Two servers are lost, and three are left: a primary and two backups.
  const cluster = await TestCluster.start(5, { replicas: 2 });
  try {
    const client = await RawClient.connect(cluster.servers[4]!.port);
    const keys = Array.from({ length: 500 }, (_, i) => `k${i}`);
    expect(await client.command('MSET', ...keys.flatMap((key) => [key, `v${key}`]))).toBe('+OK\r\n');
    for (const [lost, isTaken] of [true, false].entries()) {
      const { take } = Imports.prototype;
      let takes = 0;
      vi.spyOn(Imports.prototype, 'take').mockImplementation(async function (this: Imports, ...args) {
        takes += 1;
        if (takes > 1) return take.apply(this, args);
        if (isTaken) await take.apply(this, args);
        throw Object.assign(new Error('for the test'), { code: 'ERR_RDMC_LOG_FULL' });
      });
      const recovered = cluster.recovered(lost + 1);
      await cluster.servers[lost]!.close();
      await recovered;
      vi.restoreAllMocks();
      expect(cluster.failures.splice(0)[0]).toMatch(/^ERR_RDMC_LOG_FULL: .*for the test/);
      expect(cluster.recoveries).toBe(lost + 1);
      for (const key of keys) {
        expect(await client.command('GET', key)).toBe(`$${key.length + 1}\r\nv${key}\r\n`);
      }
      expect(await client.command('DBSIZE')).toBe(':500\r\n');
    }
  } finally {
    await cluster.close();
  }
});

it('a takeover begins again at once when the connection of its leader with an heir breaks', async () => {
  const cluster = await TestCluster.start(5, { replicas: 2 });
  try {
    const client = await RawClient.connect(cluster.servers[4]!.port);
    const keys = Array.from({ length: 500 }, (_, i) => `k${i}`);
    expect(await client.command('MSET', ...keys.flatMap((key) => [key, `v${key}`]))).toBe('+OK\r\n');
    const { request } = Mesh.prototype;
    let pulls = 0;
    vi.spyOn(Mesh.prototype, 'request').mockImplementation(function (this: Mesh, ...args) {
      const [to, topic] = args;
      const asked = request.apply(this, args);
      if (topic !== Topic.PULL) return asked;
      pulls += 1;
      // Both live, and no answer comes on the next connection.
      if (pulls === 1) this.reportFailure(to, 'for the test');
      return asked;
    });
    const recovered = cluster.recovered(1);
    await cluster.servers[0]!.close();
    await recovered;
    expect(cluster.failures[0]).toMatch(/^ERR_RDMC_MESH_MEMBER_LOST: .*for the test/);
    for (const key of keys) {
      expect(await client.command('GET', key)).toBe(`$${key.length + 1}\r\nv${key}\r\n`);
    }
    expect(await client.command('DBSIZE')).toBe(':500\r\n');
  } finally {
    await cluster.close();
  }
});

it('an heir without room for its part is left out of the next attempt, and the others get everything', async () => {
  const KIB = 1024;
  const cluster = await TestCluster.start(
    3,
    { replicas: 1, segmentBytes: 256 * KIB, maxSegments: 60, buffers: 64 },
    { servers: { 3: { maxSegments: 10 } } },
  );
  try {
    const client = await RawClient.connect(cluster.servers[1]!.port);
    // A third of 3 MiB is at each server, and a half of that more does not fit into the third one's log, which keeps segments free.
    const keys = Array.from({ length: 768 }, (_, i) => `k${i}`);
    const value = 'x'.repeat(4 * KIB);
    for (const key of keys) expect(await client.command('SET', key, `${value}${key}`)).toBe('+OK\r\n');
    const recovered = cluster.recovered(1);
    await cluster.servers[0]!.close();
    await recovered;
    expect(cluster.failures).toContainEqual(expect.stringMatching(/^ERR_RDMC_LOG_FULL: server 3: /));
    for (const key of keys) expect((await client.command('GET', key)).endsWith(`x${key}\r\n`)).toBe(true);
  } finally {
    await cluster.close();
  }
});
