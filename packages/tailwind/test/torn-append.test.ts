import { decodeObject, EntryType, type Log, type LogEntry } from '@rdmc/tailwind';
import { encodeDigest, encodeSegmentHeader, SegmentWriter, segmentEntries } from '@rdmc/tailwind/format';
import { PATIENT } from '@rdmc/testing';
import { tearWrites } from '@rdmc/verbs';
import { expect, it } from 'vitest';
import { type ClusterMember, object, SEGMENT, startCluster, TestAuthority } from './support/cluster.js';
import { loaded } from './support/loaded.js';

const VALUE_BYTES = 9;
/** Clusters that run at the same time: over TCP most of the time is spent waiting. */
const LANES = 4;
const FIRST = [1, 2].map((number) => object(number, VALUE_BYTES));
const TORN = [3, 4, 5].map((number) => object(number, VALUE_BYTES));

/** The expected bytes of a log's first segment, and the ends of its groups. */
function expected(logId: bigint) {
  const identity = { logId, segmentId: 1n, incarnation: 1 };
  const bytes = new Uint8Array(SEGMENT);
  const writer = new SegmentWriter(bytes, identity);
  const group = (entries: readonly LogEntry[]): number => {
    for (const { type, parts } of entries) writer.append(type as Exclude<typeof type, 9>, ...parts);
    const { offset, byteLength } = writer.seal()!;
    return offset + byteLength;
  };
  group([
    { type: EntryType.SEGMENT_HEADER, parts: [encodeSegmentHeader({ ...identity, segmentBytes: SEGMENT })] },
    { type: EntryType.LOG_DIGEST, parts: [encodeDigest([1n])] },
  ]);
  return { bytes, before: group(FIRST), after: group(TORN) };
}

/** Appends one group that is acknowledged, and one that is torn; resolves when the primary has lost its backup. */
async function tear({ node, logs }: ClusterMember, logId: bigint, afterBytes: number): Promise<Log> {
  let noticed = (): void => {};
  const lost = new Promise<void>((resolve) => {
    noticed = resolve;
  });
  const log = await logs.create({
    authority: new TestAuthority(),
    logId,
    incarnation: 1,
    segmentBytes: SEGMENT,
    replicas: 1,
    ...PATIENT,
    logger: { warn: (_, message) => message === 'a replica is lost' && noticed() },
  });
  await log.append(...FIRST).acknowledged;
  tearWrites(node.device, { afterBytes });
  log.append(...TORN).acknowledged.catch(() => {});
  await lost;
  tearWrites(node.device, { afterBytes: Number.MAX_SAFE_INTEGER });
  return log;
}

/** What a recovery finds at the backup. */
async function find({ backup }: ClusterMember, logId: bigint) {
  const [report] = (await backup.inventory(logId)).filter(({ record }) => record.segmentId === 1n);
  const { result, bytes } = await loaded(backup, { logId, segmentId: 1n });
  expect(result).toEqual(report!.scan);
  const versions = [...segmentEntries(bytes, result.offset)]
    .filter(({ type }) => type === EntryType.OBJECT)
    .map(({ payload }) => decodeObject(payload).version);
  return { ...result, versions };
}

it.each(['shm', 'tcp'] as const)(
  'an append of three entries, torn at every byte over %s: the scan gives the last complete group',
  async (transport) => {
    const { before, after } = expected(1n);
    expect(after - before).toBeGreaterThan(90);
    await Promise.all(Array.from({ length: LANES }, (_, lane) => tearAll(transport, before + lane, after)));
  },
);

/** Tears at every n-th byte, from a first one on; other clusters tear at the other bytes at the same time. */
async function tearAll(transport: 'shm' | 'tcp', first: number, after: number): Promise<void> {
  // One buffer, so that no next segment can be opened: its first write would be torn instead of the append's.
  const [primary, backup] = await startCluster(2, { transport, buffers: 1 });
  for (let cut = first; cut < after; cut += LANES) {
    const logId = BigInt(cut);
    const { bytes, before } = expected(logId);
    const log = await tear(primary!, logId, cut - before);
    const found = await find(backup!, logId);
    // If the missing bytes are zeros, the append is complete. Over TCP the fence may have come before.
    const isWhole = bytes.subarray(cut, after).every((byte) => byte === 0);
    const asWhole = isWhole && (transport === 'shm' || found.offset === after);
    expect({ cut, status: found.status, offset: found.offset, versions: found.versions }).toEqual({
      cut,
      status: 'ok',
      offset: asWhole ? after : before,
      versions: asWhole ? [1, 2, 3, 4, 5] : [1, 2],
    });
    await log.close();
    await backup!.backup.freeLog(logId);
  }
}
