import { join } from 'node:path';
import { expect, it } from 'vitest';
import { KvServer } from '../src/index.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

it('a server that is started again while the others run is told what to do, and they go on', async () => {
  const cluster = await TestCluster.start(3, { replicas: 1 });
  try {
    const { members, directory } = cluster;
    const serving = cluster.serving();
    await cluster.servers[2]!.close();
    await serving;
    const again = KvServer.start({
      id: 3,
      members,
      directory: join(directory, 'server-3'),
      port: 0,
      replicas: 1,
      silenceTimeoutMs: 0,
      joinTimeoutMs: 4000,
    });
    await expect(again).rejects.toMatchObject({
      code: 'ERR_RDMC_KV_LEFT_BEHIND',
      message: expect.stringContaining('end the coordinator and start all members again'),
    });
    const client = await RawClient.connect(cluster.servers[0]!.port);
    expect(await client.command('SET', 'key', 'value')).toBe('+OK\r\n');
  } finally {
    await cluster.close();
  }
});
