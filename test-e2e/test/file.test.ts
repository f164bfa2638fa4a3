import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { GroupProgress } from '@rdmc/group';
import { sharedDirectory } from '@rdmc/testing';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, endClusters } from '../src/cluster.js';
import type { Closed, SystemFacts } from '../src/member-types.js';
import { sha256OfPattern } from '../src/pattern.mjs';

const MIB = 1024 * 1024;
const GROUP = 1;
/** Some times the memory that a member may take beside the message; the last block is shorter. */
const fileBytes = 32 * MIB + 12_345;
const file = join(sharedDirectory('rdmc-e2e-file'), 'file');

beforeAll(() => writeFileSync(file, randomBytes(fileBytes)));

afterEach(endClusters);

async function sha256OfFile(): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

function system(cluster: Cluster): Promise<SystemFacts[]> {
  return cluster.all((member) => member.call<SystemFacts>('system'));
}

describe('a file to seven receivers, by the binomial pipeline', () => {
  const ids = [0, 1, 2, 3, 4, 5, 6, 7];
  const blockBytes = MIB;

  it('arrives everywhere, without a copied block and with little more memory than the message', async () => {
    const cluster = await Cluster.start(ids.length);
    await cluster.createGroup(GROUP, ids, { algorithm: 'binomial-pipeline', blockBytes, keep: 1 });
    const before = await system(cluster);
    await cluster.at(0).call('sendFile', { group: GROUP, path: file });
    const closed = await cluster.all((member) => member.call<Closed>('close', { group: GROUP }));
    const sha256 = await sha256OfFile();
    const blocks = Math.ceil(fileBytes / blockBytes);
    for (const receiver of cluster.except(0)) {
      await receiver.event('end', ({ error }) => error === null);
      expect(receiver.messages(GROUP)).toMatchObject([{ number: 0, byteLength: fileBytes, sha256 }]);
      const { progress, error } = closed[receiver.id]!;
      expect(error).toBeNull();
      expect(progress).toMatchObject<Partial<GroupProgress>>({
        blocksReceived: blocks,
        bytesReceived: fileBytes,
        // Blocks are longer than first-block buffers: their header has gone ahead.
        firstBlockCopies: 0,
        bytesCopied: 0,
        messagesReceived: 1,
      });
    }
    expect(closed.reduce((sum, { progress }) => sum + progress.blocksSent, 0)).toBe(7 * blocks);
    const after = await system(cluster);
    expectLittleMemory(before, after, blockBytes);
    expect(
      after.flatMap(({ namedMemory }) => namedMemory),
      'memory that would stay behind',
    ).toEqual([]);
    await cluster.leave();
  });
});

/**
 * Every page of shared memory counts once for its owner and for those that write there; as parts of a page (Pss) these
 * add up to what there is. So: in all, one message per member and a few blocks each. And for each by itself: what its
 * device took from the system.
 */
function expectLittleMemory(before: SystemFacts[], after: SystemFacts[], blockBytes: number): void {
  const grown = (read: (facts: SystemFacts) => number, id: number): number =>
    read(after[id]!) - read(before[id]!);
  let shared = 0;
  for (const id of after.keys()) {
    shared += grown(({ memory }) => memory.Pss_Shmem!, id);
    // The device takes its memory from the system in arenas.
    const taken = grown(({ mappedBytes }) => mappedBytes, id);
    expect(taken, `bytes member ${id} took for a message of ${fileBytes}`).toBeLessThan(
      fileBytes + 8 * blockBytes,
    );
  }
  expect(shared, 'shared memory of all members').toBeGreaterThanOrEqual(after.length * fileBytes);
  expect(shared, 'shared memory of all members').toBeLessThan(after.length * (fileBytes + 8 * blockBytes));
}

// Beyond 32 bits everywhere: sizes, offsets, block counts times block size.
const large = process.env.RDMC_TEST_LARGE === '1';
describe.skipIf(!large)('beyond 4 GiB (RDMC_TEST_LARGE=1 runs it; it needs 9 GB of memory)', () => {
  it('4 GiB and 12,345 bytes to one receiver', { timeout: 600_000 }, async () => {
    const byteLength = 4 * 1024 * MIB + 12_345;
    const cluster = await Cluster.start(2);
    await cluster.createGroup(GROUP, [0, 1]);
    await cluster.at(0).call('send', { group: GROUP, seed: 5, byteLength }, 300_000);
    const [closed] = await cluster.all((member) => member.call<Closed>('close', { group: GROUP }, 300_000));
    expect(closed!.error).toBeNull();
    await cluster.at(1).event('end', ({ error }) => error === null, 300_000);
    const sha256 = sha256OfPattern(5, byteLength);
    expect(cluster.at(1).messages(GROUP)).toMatchObject([{ number: 0, byteLength, sha256 }]);
    await cluster.leave();
  });
});
