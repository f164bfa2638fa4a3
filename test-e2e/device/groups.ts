import { afterEach, describe, it } from 'node:test';
import { type Algorithm, algorithms } from '@rdmc/group';
import { endClusters } from '../src/cluster.js';
import { startMembers, transfer } from './members.js';

const MIB = 1 << 20;
const BLOCK_BYTES = 65_536;
const SIZES = [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, MIB + 7];

/** Racks for hybrid: every other member is in the same one. */
function optionsOf(algorithm: Algorithm, ids: readonly number[]) {
  return { algorithm, ...(algorithm === 'hybrid' && { racks: ids.map((_, rank) => rank % 2) }) };
}

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
          const options = { blockBytes: BLOCK_BYTES, ...optionsOf(algorithm, ids) };
          await transfer(cluster, { group, ids, sizes: SIZES, options });
        }
        await cluster.leave();
      });

      it(`every algorithm, 64 MiB in blocks as chosen, ${ids.length} members`, async () => {
        const cluster = await startMembers(4);
        for (const [group, algorithm] of algorithms.entries()) {
          await transfer(cluster, { group, ids, sizes: [64 * MIB], options: optionsOf(algorithm, ids) });
        }
        await cluster.leave();
      });
    }

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
