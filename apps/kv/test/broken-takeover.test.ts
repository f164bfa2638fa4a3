/** Connections between servers that live which break during a takeover. */
import { afterEach, expect, it, vi } from 'vitest';
import { PeerLink } from '../src/cluster/peer-link.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

afterEach(() => vi.restoreAllMocks());

it('a takeover begins again at once when a connection breaks, with the frames on it and before', async () => {
  // Two servers are lost, and three are left: a primary and two backups.
  const cluster = await TestCluster.start(5, { replicas: 2 });
  try {
    const client = await RawClient.connect(cluster.servers[4]!.port);
    const keys = Array.from({ length: 500 }, (_, i) => `k${i}`);
    expect(await client.command('MSET', ...keys.flatMap((key) => [key, `v${key}`]))).toBe('+OK\r\n');
    for (const [lost, isSent] of [true, false].entries()) {
      const { sendRecords } = PeerLink.prototype;
      let sends = 0;
      vi.spyOn(PeerLink.prototype, 'sendRecords').mockImplementation(function (this: PeerLink, ...args) {
        sends += 1;
        if (sends > 1) return sendRecords.apply(this, args);
        const sent = isSent ? sendRecords.apply(this, args) : Promise.resolve();
        this.close();
        return sent;
      });
      const recovered = cluster.recovered(lost + 1);
      await cluster.servers[lost]!.close();
      await recovered;
      vi.restoreAllMocks();
      expect(cluster.failures.splice(0)[0]).toMatch(
        /^ERR_RDMC_KV_MEMBER_LOST: the connection with member \d broke$/,
      );
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
