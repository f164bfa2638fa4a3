/** The clients that people use, as they come from the registry. */
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestCluster } from './support/cluster.js';

const execute = promisify(execFile);
let cluster: TestCluster;
let port: number;

beforeAll(async () => {
  cluster = await TestCluster.start(4);
  port = cluster.servers[0]!.port;
});
afterAll(() => cluster?.close());

it('ioredis', async () => {
  const client = new Redis({ port, host: '127.0.0.1' });
  expect(await client.set('a', 'é', 'EX', 100_000)).toBe('OK');
  expect(await client.get('a')).toBe('é');
  expect(await client.ttl('a')).toBeGreaterThan(90_000);
  const results = await client.pipeline().incr('n').incr('n').mget('n', 'none').exec();
  expect(results).toEqual([
    [null, 1],
    [null, 2],
    [null, ['2', null]],
  ]);
  await expect(client.call('NOSUCH')).rejects.toThrow('unknown command');
  expect(await client.wait(3, 100)).toBe(3);
  await client.quit();
});

it('ioredis, as a client of a cluster', async () => {
  const client = new Cluster([{ host: '127.0.0.1', port }]);
  for (let i = 0; i < 30; i += 1) expect(await client.set(`c${i}`, i)).toBe('OK');
  for (let i = 0; i < 30; i += 1) expect(await client.get(`c${i}`)).toBe(String(i));
  await client.quit();
});

describe.each([2, 3] as const)('redis, RESP%i', (RESP) => {
  it('a client', async () => {
    const client = await createClient({ url: `redis://127.0.0.1:${port}`, RESP }).connect();
    await client.set('x', 'y', { expiration: { type: 'EX', value: 100_000 } });
    expect(await client.get('x')).toBe('y');
    expect(await client.get('nothing')).toBe(null);
    await client.mSet({ 'k:1': '1', 'k:2': '2' });
    expect(await client.mGet(['k:1', 'k:2', 'k:3'])).toEqual(['1', '2', null]);
    const found: string[] = [];
    for await (const keys of client.scanIterator({ MATCH: 'k:*' })) found.push(...keys);
    expect(found.sort()).toEqual(['k:1', 'k:2']);
    expect(await Promise.all([client.incr(`i${RESP}`), client.incr(`i${RESP}`)])).toEqual([1, 2]);
    await client.close();
  });

  it('a client of a cluster', async () => {
    const client = await createCluster({
      rootNodes: [{ url: `redis://127.0.0.1:${port}` }],
      RESP,
    }).connect();
    for (let i = 0; i < 30; i += 1) await client.set(`r${i}`, String(i));
    for (let i = 0; i < 30; i += 1) expect(await client.get(`r${i}`)).toBe(String(i));
    await client.close();
  });
});

const hasTools = spawnSync('redis-cli', ['--version']).status === 0;
it.skipIf(!hasTools)(
  hasTools
    ? 'redis-cli and redis-benchmark'
    : 'redis-cli and redis-benchmark (left out: apt-get install redis-tools)',
  async () => {
    const run = async (command: string, args: string[]) => (await execute(command, args)).stdout;
    expect(await run('redis-cli', ['-p', String(port), 'set', 'cli', '1'])).toBe('OK\n');
    expect(await run('redis-cli', ['-c', '-p', String(port), 'get', 'cli'])).toBe('1\n');
    const common = ['-p', String(port), '-n', '2000', '-r', '1000', '-t', 'set,get,incr,mset', '--csv'];
    for (const more of [[], ['-P', '16'], ['--cluster']]) {
      const lines = (await run('redis-benchmark', [...common, ...more])).split('\n');
      expect(lines.filter((line) => /^"(SET|GET|INCR|MSET)/.test(line)).length, lines.join('\n')).toBe(4);
    }
  },
);
