import { algorithms } from '@rdmc/group';
import { afterEach, describe, expect, it } from 'vitest';
import { Cluster, type ClusterOptions, endClusters, over } from '../src/cluster.js';
import { LONG } from '../src/long.js';
import type { Closed, Outcome } from '../src/member-types.js';
import { sha256OfPattern } from '../src/pattern.mjs';

const BLOCK_BYTES = 65_536;
/** The longest has 49 blocks, the last of them short. */
const SIZES = [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 48 * BLOCK_BYTES + 7];
const SEED = 1;
const digests = SIZES.map((byteLength) => sha256OfPattern(SEED, byteLength));

afterEach(endClusters);

/** The members of a group, with a root that differs from group to group. */
function rotated(n: number, by: number): number[] {
  return Array.from({ length: n }, (_, rank) => (rank + by) % n);
}

/** Sends one message of each size; every receiver must tell the right hash of each, in order, and close. */
async function multicast(cluster: Cluster, id: number, ids: number[], algorithm: string): Promise<void> {
  const racks = algorithm === 'hybrid' ? ids.map((_, rank) => rank % 3) : undefined;
  await cluster.createGroup(id, ids, { algorithm, blockBytes: BLOCK_BYTES, ...(racks && { racks }) });
  const [root, ...receivers] = ids.map((member) => cluster.at(member));
  for (const byteLength of SIZES) {
    const [outcome] = await root!.call<Outcome[]>('send', { group: id, seed: SEED, byteLength });
    expect(outcome!.error).toBeNull();
  }
  const closed = await cluster.all(
    (member) => member.call<Closed>('close', { group: id }),
    [root!, ...receivers],
  );
  for (const { error } of closed) expect(error).toBeNull();
  for (const receiver of receivers) {
    await receiver.event('end', ({ group, error }) => group === id && error === null);
    const got = receiver
      .messages(id)
      .map(({ number, byteLength, sha256 }) => ({ number, byteLength, sha256 }));
    expect(got).toEqual(SIZES.map((byteLength, number) => ({ number, byteLength, sha256: digests[number] })));
  }
}

/** Groups of these sizes, one after the other, among members of one cluster. */
async function everyAlgorithm(sizes: readonly number[], options: ClusterOptions = {}): Promise<void> {
  const cluster = await Cluster.start(Math.max(...sizes), options);
  let id = 0;
  for (const n of sizes) {
    for (const [index, algorithm] of algorithms.entries()) {
      await multicast(cluster, id, rotated(n, index), algorithm);
      id += 1;
    }
  }
  await cluster.leave();
}

describe('every algorithm and every kind of size, hash for hash', () => {
  // RDMC_TEST_LONG=1: also the sizes between; tests of schedules have all of them.
  const sizes = LONG ? [2, 3, 4, 5, 6, 7, 8] : [2, 3, 5, 8];
  it(`among ${sizes.join(', ')} processes over shared memory`, () =>
    everyAlgorithm(sizes, { node: over('shm') }));

  // RDMC_TEST_LONG=1: eight also over TCP. The schedule of eight is the same over both.
  const overTcp = LONG ? [2, 5, 8] : [2, 5];
  it(`among ${overTcp.join(' and ')} processes over TCP`, () =>
    everyAlgorithm(overTcp, { node: over('tcp') }));

  const key = 'k'.repeat(32);
  it('with a cluster key, a mesh over IPv6, and workers that poll, over shm', () =>
    everyAlgorithm([3], { host: '::1', node: { key, windowMs: 50, ...over('shm') } }));

  it('with a cluster key, over IPv6, device and all', () =>
    everyAlgorithm([3], { host: '::1', node: { key, ...over('tcp') } }));
});
