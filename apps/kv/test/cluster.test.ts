import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

describe('a cluster of four', () => {
  let cluster: TestCluster;
  let clients: RawClient[];

  beforeAll(async () => {
    cluster = await TestCluster.start(4);
    clients = await Promise.all(cluster.servers.map(({ port }) => RawClient.connect(port)));
  });
  afterAll(() => cluster?.close());

  it('says which device each server took, and why', () => {
    const taken = { device: expect.any(String), reason: expect.stringMatching(/./) };
    for (const { device } of cluster.servers) expect(device).toMatchObject(taken);
  });

  it('takes any command at any server', async () => {
    for (let i = 0; i < 40; i += 1) {
      expect(await clients[i % 4]!.command('SET', `key:${i}`, `value ${i}`)).toBe('+OK\r\n');
      expect(await clients[(i + 1) % 4]!.command('GET', `key:${i}`)).toBe(
        `$${`value ${i}`.length}\r\nvalue ${i}\r\n`,
      );
    }
    expect(await clients[0]!.command('DBSIZE')).toBe(':40\r\n');
  });

  it('splits commands with many keys among servers, and puts the replies together', async () => {
    const [a, b] = clients as [RawClient, RawClient];
    const pairs = Array.from({ length: 50 }, (_, i) => [`m${i}`, `${i}`]);
    expect(await a.command('MSET', ...pairs.flat())).toBe('+OK\r\n');
    const values = ['m49', 'none', 'm0', 'm0'].map((key) =>
      key === 'none' ? '$-1' : `$${key.length - 1}\r\n${key.slice(1)}`,
    );
    expect(await b.command('MGET', 'm49', 'none', 'm0', 'm0')).toBe(`*4\r\n${values.join('\r\n')}\r\n`);
    await b.command('HELLO', '3');
    expect(await b.command('MGET', 'none', 'm0')).toBe('*2\r\n_\r\n$1\r\n0\r\n');
    await b.command('HELLO', '2');
    expect(await b.command('EXISTS', 'm1', 'm2', 'none')).toBe(':2\r\n');
    expect(await b.command('DEL', ...pairs.map(([key]) => key!), 'none')).toBe(':50\r\n');
    expect(await a.command('MGET', 'm1', 'm2')).toBe('*2\r\n$-1\r\n$-1\r\n');
  });

  it('runs a transaction in one step, at whichever server its keys are', async () => {
    for (const [index, client] of clients.entries()) {
      const [hash, counter] = [`{t${index}}h`, `{t${index}}n`];
      for (const at of clients) {
        const lines = [`WATCH ${hash}`, 'MULTI', `HINCRBY ${hash} f 1`, `INCR ${counter}`, 'EXEC'];
        expect(await at.pipeline(lines)).toMatch(
          /^\+OK\r\n\+OK\r\n\+QUEUED\r\n\+QUEUED\r\n\*2\r\n:(\d)\r\n:\1\r\n$/,
        );
      }
      expect(await client.command('MGET', counter)).toBe('*1\r\n$1\r\n4\r\n');
      expect(await client.command('HGETALL', hash)).toBe('*2\r\n$1\r\nf\r\n$1\r\n4\r\n');
    }
    await clients[0]!.command('WATCH', '{t0}h');
    await clients[1]!.command('HSET', '{t0}h', 'f', '9');
    const replies = await clients[0]!.pipeline(['MULTI', 'DEL {t0}h', 'EXEC']);
    expect(replies).toBe('+OK\r\n+QUEUED\r\n*-1\r\n');
    expect(await clients[2]!.command('HGET', '{t0}h', 'f')).toBe('$1\r\n9\r\n');
    expect(await clients[0]!.command('FLUSHDB')).toBe('+OK\r\n');
  });

  it('keeps the order of a pipeline', async () => {
    const [a] = clients as [RawClient];
    const words = Array.from({ length: 500 }, (_, i) => `INCR p${i % 7}\r\nGET p${i % 7}\r\nECHO ${i}\r\n`);
    let expected = '';
    for (let i = 0; i < 500; i += 1) {
      const value = String(Math.floor(i / 7) + 1);
      expected += `:${value}\r\n$${value.length}\r\n${value}\r\n$${String(i).length}\r\n${i}\r\n`;
    }
    await a.command('PING');
    a.send(words.join(''));
    const start = '+PONG\r\n'.length;
    const all = await a.until(
      (received) => received.length >= start + '$16\r\nend-of-the-reply\r\n'.length + expected.length,
    );
    expect(all.endsWith(expected)).toBe(true);
  });

  it('scans all keys, whichever server has them', async () => {
    const [a] = clients as [RawClient];
    await a.command('FLUSHDB');
    expect(await a.command('DBSIZE')).toBe(':0\r\n');
    await a.command('MSET', ...Array.from({ length: 300 }, (_, i) => [`s${i}`, 'x']).flat());
    const found = new Set<string>();
    let cursor = '0';
    do {
      const lines = (await a.command('SCAN', cursor, 'COUNT', '20', 'MATCH', 's*')).split('\r\n');
      cursor = lines[2]!;
      for (const line of lines.slice(4)) if (line.startsWith('s')) found.add(line);
    } while (cursor !== '0');
    expect(found.size).toBe(300);
    expect((await a.command('KEYS', 's1?')).split('\r\n').filter((line) => line.startsWith('s')).length).toBe(
      10,
    );
  });

  it('refuses cursors that are none', async () => {
    for (const cursor of ['70368744177664', '-1', 'x', '99999999999999999999']) {
      expect(await clients[0]!.command('SCAN', cursor)).toBe('-ERR invalid cursor\r\n');
    }
  });

  it('tells of slots, nodes and replicas', async () => {
    const [a] = clients as [RawClient];
    expect(await a.command('WAIT', '3', '100')).toBe(':3\r\n');
    expect(await a.command('CLUSTER', 'SLOTS')).toMatch(/^\*4\r\n/);
    expect(await a.command('CLUSTER', 'INFO')).toContain('cluster_state:ok');
    expect(
      (await a.command('CLUSTER', 'NODES')).split('\n').filter((line) => line.includes('master')).length,
    ).toBe(4);
  });
});

describe('a cluster that loses a server', () => {
  it('recovers its keys at the others, and goes on', async () => {
    const cluster = await TestCluster.start(5);
    try {
      const client = await RawClient.connect(cluster.servers[1]!.port);
      for (let i = 0; i < 20; i += 1) {
        const pairs = Array.from({ length: 50 }, (_, j) => [`k${i * 50 + j}`, `v${i * 50 + j}`]);
        expect(await client.command('MSET', ...pairs.flat())).toBe('+OK\r\n');
      }
      expect(await client.command('DEL', 'k7', 'k8', 'k9')).toBe(':3\r\n');
      for (let i = 0; i < 20; i += 1) {
        expect(await client.command('HSET', `h${i}`, 'f', '1', 'g', '2')).toBe(':2\r\n');
        expect(await client.command('HDEL', `h${i}`, 'g')).toBe(':1\r\n');
      }
      const serving = cluster.serving();
      await cluster.servers[0]!.close();
      await serving;
      expect(cluster.failures).toEqual([]);
      expect(cluster.recoveries).toBe(1);
      expect(await client.command('DBSIZE')).toBe(':1017\r\n');
      for (let i = 0; i < 20; i += 1) {
        expect(await client.command('HGETALL', `h${i}`)).toBe('*2\r\n$1\r\nf\r\n$1\r\n1\r\n');
      }
      for (let i = 0; i < 1000; i += 1) {
        const expected = i >= 7 && i <= 9 ? '$-1\r\n' : `$${`v${i}`.length}\r\nv${i}\r\n`;
        expect(await client.command('GET', `k${i}`)).toBe(expected);
      }
      expect(await client.command('SET', 'k7', 'again')).toBe('+OK\r\n');
      expect(await client.command('CLUSTER', 'INFO')).toContain('cluster_state:ok');
    } finally {
      await cluster.close();
    }
  });

  it('recovers two that are lost at once, the second while the first is being recovered', async () => {
    // Three are left: a primary and two backups.
    const cluster = await TestCluster.start(5, { replicas: 2 });
    try {
      const client = await RawClient.connect(cluster.servers[4]!.port);
      const keys = Array.from({ length: 600 }, (_, i) => `k${i}`);
      expect(await client.command('MSET', ...keys.flatMap((key) => [key, `v${key}`]))).toBe('+OK\r\n');
      // All may be served again before the second one is gone.
      const recovered = cluster.recovered(2);
      // The leader of the first recovery is the first of those that are left.
      await Promise.all([cluster.servers[0]!.close(), cluster.servers[1]!.close()]);
      await recovered;
      expect(cluster.recoveries).toBe(2);
      for (const key of keys) {
        expect(await client.command('GET', key)).toBe(`$${key.length + 1}\r\nv${key}\r\n`);
      }
      expect(await client.command('DBSIZE')).toBe(':600\r\n');
    } finally {
      await cluster.close();
    }
  });

  it('recovers from files after all of it was ended', async () => {
    const first = await TestCluster.start(4);
    const client = await RawClient.connect(first.servers[0]!.port);
    const pairs = Array.from({ length: 200 }, (_, i) => [`k${i}`, `v${i}`]);
    expect(await client.command('MSET', ...pairs.flat())).toBe('+OK\r\n');
    expect(await client.command('SET', 'short', 'x', 'PX', '4000000000')).toBe('+OK\r\n');
    expect(await client.command('DEL', 'k0')).toBe(':1\r\n');
    await first.dump();
    const second = await TestCluster.start(4, {}, { directory: first.directory });
    try {
      const again = await RawClient.connect(second.servers[3]!.port);
      expect(await again.command('DBSIZE')).toBe(':200\r\n');
      expect(await again.command('MGET', 'k0', 'k1', 'k199')).toBe('*3\r\n$-1\r\n$2\r\nv1\r\n$4\r\nv199\r\n');
      expect(await again.command('TTL', 'short')).toMatch(/^:(3999|4000)\d\d\d\r\n$/);
    } finally {
      await second.close();
    }
  });
});
