/** The coordinator's state in etcd. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Etcd, noEtcd } from '@rdmc/testing/etcd';
import { expect, it } from 'vitest';
import { TestCluster } from './support/cluster.js';

import { RawClient } from './support/raw-client.js';

it.skipIf(noEtcd)(
  `a cluster recovers a server, and all of itself, by what the coordinator has in etcd${noEtcd ? ` (${noEtcd})` : ''}`,
  async () => {
    const etcd = await Etcd.start(await reserveLoopbackPorts(2));
    const coordinator = { etcd: [etcd.endpoint], etcdPrefix: 'kv-test/' };
    const first = await TestCluster.start(4, { replicas: 2 }, { coordinator });
    const keys = Array.from({ length: 200 }, (_, i) => `k${i}`);
    try {
      const client = await RawClient.connect(first.servers[1]!.port);
      expect(await client.command('MSET', ...keys.flatMap((key) => [key, `of ${key}`]))).toBe('+OK\r\n');
      const serving = first.serving();
      await first.servers[0]!.close();
      await serving;
      expect(first.failures).toEqual([]);
      expect(await client.command('DBSIZE')).toBe(':200\r\n');
      await first.dump();
      // Nothing of the coordinator's is in files.
      rmSync(join(first.directory, 'coordinator'), { recursive: true, force: true });
      const second = await TestCluster.start(4, { replicas: 2 }, { coordinator, directory: first.directory });
      try {
        const again = await RawClient.connect(second.servers[3]!.port);
        for (const key of keys) expect(await again.command('GET', key)).toContain(`of ${key}`);
      } finally {
        await second.close();
      }
    } finally {
      await first.close();
      await etcd.stop();
    }
  },
  180_000,
);
