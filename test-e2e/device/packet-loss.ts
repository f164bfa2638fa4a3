import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { endClusters } from '../src/cluster.js';
import { atomicsCountOnce } from './atomics.js';
import { EXPENDABLE, losePackets, losePacketsNoMore, lostPackets, WHY_NOT } from './devices.js';
import { startMembers, transfer } from './members.js';

const SHARE = '2%';

export function packetLoss(): void {
  if (!EXPENDABLE) {
    it.skip(`${SHARE} of all packets lost [${WHY_NOT}]`, () => {});
    return;
  }
  describe(`${SHARE} of all packets lost`, () => {
    before(() => losePackets(SHARE));
    after(losePacketsNoMore);
    afterEach(endClusters);

    it('everything is delivered', async () => {
      const cluster = await startMembers(4);
      const sizes = [1, 100_000, 4 << 20, 0];
      await transfer(cluster, { group: 1, ids: [0, 1, 2, 3], sizes });
      await transfer(cluster, { group: 2, ids: [3, 0, 1], sizes, options: { algorithm: 'chain' } });
      assert.ok(lostPackets() > 10, `${lostPackets()} packets were lost`);
      await cluster.leave();
    });

    it('atomics are executed exactly once', atomicsCountOnce);
  });
}
