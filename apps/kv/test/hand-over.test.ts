/** Slots that move between servers that run. */
import { expect, it } from 'vitest';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

it('a server that returns gets slots again, with all of their keys and fields', {
  timeout: 120_000,
}, async () => {
  const cluster = await TestCluster.start(5, { replicas: 2 });
  try {
    const client = await RawClient.connect(cluster.servers[0]!.port);
    const keys = Array.from({ length: 2000 }, (_, i) => `k${i}`);
    await client.command('MSET', ...keys.flatMap((key) => [key, `v${key}`]));
    for (let i = 0; i < 50; i += 1) await client.command('HSET', `h${i}`, 'a', String(i), 'b', 'x');
    const recovered = cluster.recovered(1);
    await cluster.servers[4]!.close();
    await recovered;
    const balanced = cluster.balanced();
    cluster.servers[4] = await cluster.startServer(5);
    await balanced;
    expect(cluster.refusals).toEqual([]);
    for (const key of keys)
      expect(await client.command('GET', key)).toBe(`$${key.length + 1}\r\nv${key}\r\n`);
    for (let i = 0; i < 50; i += 1)
      expect(await client.command('HGET', `h${i}`, 'a')).toBe(`$${String(i).length}\r\n${i}\r\n`);
    expect(await client.command('DBSIZE')).toBe(':2050\r\n');
  } finally {
    await cluster.close();
  }
});
