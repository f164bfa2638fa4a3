import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { endClusters } from '../src/cluster.js';
import { atomicsCountOnce } from './atomics.js';
import { EXPENDABLE, losePackets, losePacketsNoMore, lostPackets, WHY_NOT } from './devices.js';
import { startMembers, transfer } from './members.js';

const SHARE = '2%';
/** rdma_rxe gives up longer messages: a lost packet uses up a retry, and only the acknowledgement of a message resets them. */
const BLOCK_BYTES = 64 << 10;

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
      const options = { blockBytes: BLOCK_BYTES };
      await transfer(cluster, { group: 1, ids: [0, 1, 2, 3], sizes, options });
      await transfer(cluster, {
        group: 2,
        ids: [3, 0, 1],
        sizes,
        options: { ...options, algorithm: 'chain' },
      });
      assert.ok(lostPackets() > 10, `${lostPackets()} packets were lost`);
      await cluster.leave();
    });

    it('atomics are executed exactly once', atomicsCountOnce);
  });
}
