import { afterEach, describe, it } from 'node:test';
import { algorithms } from '@rdmc/group';
import { endClusters } from '../src/cluster.js';
import { startMembers, transfer } from './members.js';

const MIB = 1 << 20;
const BLOCK_BYTES = 65_536;
const SIZES = [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, MIB + 7];

export function groups(): void {
  describe('groups of members on devices of their own', () => {
    afterEach(endClusters);

    for (const ids of [
      [0, 1, 2, 3],
      [3, 1, 2],
    ]) {
      it(`every algorithm, sizes around a block, ${ids.length} members`, async () => {
        const cluster = await startMembers(4);
        for (const [group, algorithm] of algorithms.entries()) {
          const racks = algorithm === 'hybrid' ? { racks: ids.map((_, rank) => rank % 2) } : {};
          const options = { algorithm, blockSizeBytes: BLOCK_BYTES, ...racks };
          await transfer(cluster, { group, ids, sizes: SIZES, options });
        }
        await cluster.leave();
      });
    }

    it('64 MiB to four members, 8 MiB and a byte to three', async () => {
      const cluster = await startMembers(4);
      await transfer(cluster, { group: 1, ids: [0, 1, 2, 3], sizes: [64 * MIB] });
      await transfer(cluster, { group: 2, ids: [2, 0, 3], sizes: [8 * MIB + 1] });
      await cluster.leave();
    });

    it('two overlapping groups with different roots at the same time', async () => {
      const cluster = await startMembers(4);
      const sizes = Array.from({ length: 8 }, (_, index) => MIB + index);
      await Promise.all([
        transfer(cluster, { group: 1, ids: [0, 1, 2, 3], sizes }),
        transfer(cluster, { group: 2, ids: [2, 3, 0], sizes, options: { algorithm: 'chain' } }),
      ]);
      await cluster.leave();
    });
  });
}
