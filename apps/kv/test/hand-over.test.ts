/** Slots that move between servers that run. */
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { freed } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { slotCount } from '../src/admin/status.js';
import { ADMIN_COMMAND } from '../src/commands/admin.js';
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

it('a server joins a cluster that runs, another one is drained and removed, and nothing is lost', {
  timeout: 120_000,
}, async () => {
  const cluster = await TestCluster.start(4, { replicas: 2 });
  try {
    const client = await RawClient.connect(cluster.servers[0]!.port);
    const admin = async (...words: string[]) => {
      const reply = await client.command(ADMIN_COMMAND, ...words);
      return reply.startsWith('-') ? reply : JSON.parse(reply.slice(reply.indexOf('\n') + 1));
    };
    const keys = Array.from({ length: 1000 }, (_, i) => `k${i}`);
    await client.command('MSET', ...keys.flatMap((key) => [key, `v${key}`]));
    const [free] = await freed(await reserveLoopbackPorts(1));
    const joined = cluster.balanced();
    const { clusterId, members } = await admin('MEMBERS');
    const listen = { host: '127.0.0.1', port: free!.port };
    cluster.servers.push(await cluster.startServer(7, { clusterId, members, listen }));
    await joined;
    const slotsOf = async (server: number): Promise<number> => {
      const { servers } = await admin('STATUS');
      return slotCount(servers.find((each: { server: number }) => each.server === server).slots);
    };
    expect(await slotsOf(7)).toBe(3276);
    expect(await admin('REMOVE', '3')).toMatch(/^-ERR ERR_RDMC_KV_SERVER_NEEDED .*not drained/);
    const drained = cluster.balanced();
    expect(await admin('DRAIN', '3')).toEqual({ drained: [3] });
    await drained;
    const hasReplicas = async (): Promise<boolean> => {
      const { servers } = await admin('STATUS');
      return servers.find((each: { server: number }) => each.server === 3).facts.backup.logs.length > 0;
    };
    while (await hasReplicas()) await new Promise(setImmediate);
    expect(await slotsOf(3)).toBe(0);
    const third = cluster.servers[2]!;
    expect(await admin('REMOVE', '3')).toEqual({ drained: [] });
    await new Promise<void>((resolve) => {
      if (third.signal.aborted) resolve();
      else third.signal.addEventListener('abort', () => resolve());
    });
    expect(third.signal.reason).toMatchObject({ code: 'ERR_RDMC_MESH_EVICTED' });
    // With two backups for each log, three servers are needed.
    expect(await admin('DRAIN', '4')).toEqual({ drained: [4] });
    expect(await admin('DRAIN', '1')).toMatch(/^-ERR ERR_RDMC_KV_SERVER_NEEDED /);
    const back = cluster.balanced();
    expect(await admin('UNDRAIN', '4')).toEqual({ drained: [] });
    await back;
    for (const key of keys)
      expect(await client.command('GET', key)).toBe(`$${key.length + 1}\r\nv${key}\r\n`);
    expect(cluster.refusals).toEqual([]);
  } finally {
    await cluster.close();
  }
});
