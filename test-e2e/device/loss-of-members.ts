import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Algorithm } from '@rdmc/group';
import { endClusters } from '../src/cluster.js';
import type { Closed } from '../src/member-types.js';
import { patient } from '../src/patience.js';
import { expectLost, expectOrderedAndExact } from '../src/proof.js';
import { type Stream, startStream } from '../src/stream.js';
import { addDevice, addressOf, EXPENDABLE, removeDevice, setLink, WHY_NOT } from './devices.js';
import { startMembers, transfer } from './members.js';

const GROUP = 1;
const IDS = [0, 1, 2, 3];
const WAIT_MS = 60_000;
/**
 * Long: no packet is lost on purpose here, but in an emulated machine on a busy one an acknowledgement takes seconds. soft-RoCE does not
 * stand packets that are only late and are sent again: see "A time-out that is too short" in docs/soft-roce.md.
 */
const RETRY_MS = patient(4_000);
/** The relay whose device is removed. */
const LOST = 2;
/** How often a port goes down: RDMC_TEST_PORT_RUNS, to search for a rare failure. */
const PORT_RUNS = Number(process.env.RDMC_TEST_PORT_RUNS ?? 1);
const KILLED: readonly (readonly [role: string, algorithm: Algorithm, member: number])[] = [
  ['root', 'binomial-pipeline', 0],
  ['relay', 'chain', 1],
  ['leaf', 'chain', 3],
];

async function streaming(algorithm: Algorithm): Promise<Stream> {
  const cluster = await startMembers(IDS.length);
  const options = { algorithm, retryTimeoutMs: RETRY_MS, timeoutMs: patient(30_000), keep: 1 };
  const size = { byteLength: 1 << 20, count: 'endless' } as const;
  return startStream(cluster, { group: GROUP, ids: IDS, seed: 10, variants: 2, ...size, options });
}

/** Every survivor's error names the lost member, it keeps its messages, and the survivors continue in the same processes. */
async function expectToGoOn({ cluster, sends }: Stream, lost: number): Promise<void> {
  const survivors = cluster.except(lost);
  for (const receiver of survivors.filter(({ id }) => id !== 0)) {
    const { error } = await receiver.event('end', ({ group }) => group === GROUP, WAIT_MS);
    expectLost(error, lost);
    expectOrderedAndExact(receiver, GROUP);
  }
  if (lost !== 0) {
    const failed = (await sends).filter(({ error }) => error !== null);
    assert.ok(failed.length > 0, 'sends were pending');
    for (const { error } of failed) expectLost(error, lost);
  }
  for (const survivor of survivors) {
    expectLost((await survivor.call<Closed>('close', { group: GROUP }, WAIT_MS)).error, lost);
  }
  const ids = survivors.map(({ id }) => id).reverse();
  await transfer(cluster, { group: GROUP + 1, ids, sizes: [300_000, 0, 1 << 20] });
}

/** A test that removes a device. */
function deviceTest(title: string, work: () => Promise<void>): void {
  it(EXPENDABLE ? title : `${title} [${WHY_NOT}]`, { skip: !EXPENDABLE }, work);
}

export function lossOfMembers(): void {
  describe('members and devices lost in the middle of a transfer', () => {
    afterEach(endClusters);

    for (const [role, algorithm, lost] of KILLED) {
      it(`kill -9 of the ${role} (${algorithm}, member ${lost})`, async () => {
        const stream = await streaming(algorithm);
        stream.cluster.at(lost).signal('SIGKILL');
        await expectToGoOn(stream, lost);
        await stream.cluster.leave();
      });
    }

    for (let run = 1; run <= PORT_RUNS; run += 1) {
      const which = PORT_RUNS > 1 ? ` [run ${run} of ${PORT_RUNS}]` : '';
      deviceTest(
        `the port of a relay goes down: all name the relay, and every process continues${which}`,
        async () => {
          const stream = await streaming('chain');
          const { cluster, sends } = stream;
          setLink(LOST, 'down');
          try {
            for (const receiver of cluster.except(0)) {
              const { error } = await receiver.event('end', ({ group }) => group === GROUP, WAIT_MS);
              assert.deepEqual(
                [error?.code, error?.memberId],
                ['ERR_RDMC_MEMBER_LOST', LOST],
                error?.message,
              );
              expectOrderedAndExact(receiver, GROUP);
            }
            const failed = (await sends).filter(({ error }) => error !== null);
            assert.ok(failed.length > 0, 'sends were pending');
            const ids = cluster.except(LOST).map(({ id }) => id);
            await transfer(cluster, { group: GROUP + 1, ids, sizes: [300_000, 1 << 20] });
            assert.ok(cluster.at(LOST).alive);
          } finally {
            setLink(LOST, 'up');
            await addressOf(LOST);
          }
        },
      );
    }

    deviceTest(
      'a device is removed (rdma link del): its member is lost, and all processes continue',
      async () => {
        const stream = await streaming('chain');
        const removed = removeDevice(LOST);
        try {
          const there = stream.cluster.at(LOST).event('end', ({ group }) => group === GROUP, WAIT_MS);
          const { error } = await there;
          assert.equal(error?.code, 'ERR_RDMC_DEVICE_REMOVED', error?.message);
          await expectToGoOn(stream, LOST);
          assert.ok(stream.cluster.at(LOST).alive);
          // The removal waits for the last user of the device: it is not used any longer, although all processes live.
          await removed;
        } finally {
          await endClusters();
          await removed;
          await addDevice(LOST);
        }
      },
    );
  });
}
