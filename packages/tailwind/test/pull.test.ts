/** Several heirs that pull their parts of a dead log from the backups. */
import { readFile, writeFile } from 'node:fs/promises';
import { Deferred } from '@rdmc/common';
import { type Division, decodeObject, type HeirShare, type Recovery } from '@rdmc/tailwind';
import { refusal, rejection } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { segmentEntries } from '../src/format/scan.js';
import { segmentKey } from '../src/segment-key.js';
import {
  type ClusterMember,
  coordinatedLog,
  object,
  SEGMENT,
  startCluster,
  startCoordinator,
} from './support/cluster.js';

const DIVIDER = new URL('./fixtures/divider.mjs', import.meta.url);
const OBJECTS = 700;

/** Members 2 and 3 share the slots, member 1 is the coordinator; each is a backup. */
const SHARES: readonly HeirShare[] = [
  {
    member: 2,
    ranges: [
      [0, 29],
      [90, 99],
    ],
  },
  { member: 3, ranges: [[30, 89]] },
];

/** Member 0 has written a log, and is dead. */
async function rig(members: number, replicas = 3) {
  const cluster = await startCluster(members, { divider: DIVIDER });
  await startCoordinator(cluster[1]!);
  const log = await coordinatedLog(cluster[0]!, 1, { replicas });
  const appends = Array.from({ length: OBJECTS }, (_, number) => log.append(object(number)).acknowledged);
  await Promise.all(appends);
  await cluster[0]!.kill();
  return { cluster, logId: log.id };
}

function begin({ logs }: ClusterMember, logId: bigint): Promise<Recovery> {
  return logs.recover({ coordinator: logs.coordinator(1), logId });
}

/** The versions that an heir gets. */
async function pulled({ logs }: ClusterMember, division: Division, signal?: AbortSignal): Promise<number[]> {
  const versions: number[] = [];
  for await (const part of logs.pull({ division, ...(signal && { signal }) })) {
    for (const { payload } of part.entries()) versions.push(decodeObject(payload).version);
  }
  return versions.sort((a, b) => a - b);
}

const NO_MEMORY = new Error('no memory');

function fail(): never {
  throw NO_MEMORY;
}

function expected(share: HeirShare): number[] {
  const numbers = Array.from({ length: OBJECTS }, (_, number) => number);
  return numbers.filter((number) =>
    share.ranges.some(([from, to]) => number % 100 >= from && number % 100 <= to),
  );
}

it('heirs get their parts from the backups directly, and each segment is scanned once', async () => {
  const { cluster, logId } = await rig(5);
  const scans = new Map<string, number>();
  for (const { backup } of cluster.slice(1)) {
    const load = backup.load.bind(backup);
    backup.load = (ref, use, divide) => {
      scans.set(segmentKey(ref), (scans.get(segmentKey(ref)) ?? 0) + 1);
      return load(ref, use, divide);
    };
  }
  const recovery = await begin(cluster[2]!, logId);
  const division = await recovery.divide(SHARES);
  const parts = await Promise.all(SHARES.map(({ member }) => pulled(cluster[member]!, division)));
  expect(parts).toEqual(SHARES.map(expected));
  expect([...scans.values()]).toEqual(recovery.segmentIds.map(() => 1));
  expect(new Set(division.segments.map(({ sources }) => sources[0])).size).toBeGreaterThan(2);
  await recovery.close();
});

it('another backup is asked where one has ended, and where a replica is damaged', async () => {
  // All of them have all segments, so each serves one or more.
  const { cluster, logId } = await rig(6, 5);
  const recovery = await begin(cluster[2]!, logId);
  const division = await recovery.divide(SHARES);
  const ended = 4;
  expect(division.segments.map(({ sources }) => sources[0])).toContain(ended);
  await cluster[ended]!.kill();
  const damaged = division.segments.slice(0, -1).find(({ sources }) => sources[0] !== ended)!;
  await flipBit(cluster[damaged.sources[0]!]!, damaged.segmentId, logId);
  const parts = await Promise.all(SHARES.map(({ member }) => pulled(cluster[member]!, division)));
  expect(parts).toEqual(SHARES.map(expected));
  await recovery.close();
});

it('another backup is asked where the connection of the heir with one breaks, and both live', async () => {
  const { cluster, logId } = await rig(6, 5);
  const recovery = await begin(cluster[2]!, logId);
  const division = await recovery.divide(SHARES);
  const [heir, cut] = [cluster[2]!, 4];
  expect(division.segments.map(({ sources }) => sources[0])).toContain(cut);
  const [asked, over] = [new Deferred<void>(), new Deferred<void>()];
  const { backup } = cluster[cut]!;
  const load = backup.load.bind(backup);
  backup.load = async (...args) => {
    asked.resolve();
    await over.promise;
    return load(...args);
  };
  const part = pulled(heir, division);
  await asked.promise;
  heir.mesh.reportFailure(cut, 'for the test');
  expect(await part).toEqual(expected(SHARES[0]!));
  // The other heir's connection is whole.
  over.resolve();
  expect(await pulled(cluster[3]!, division)).toEqual(expected(SHARES[1]!));
  await recovery.close();
});

it('heirs of an attempt before the last one get nothing, and one that does not take part neither', async () => {
  const { cluster, logId } = await rig(5);
  const first = await begin(cluster[2]!, logId);
  const former = await first.divide(SHARES);
  await first.close();
  const second = await begin(cluster[3]!, logId);
  const division = await second.divide([SHARES[1]!]);
  for (const [member, asked] of [
    [3, former],
    [2, division],
  ] as const) {
    expect(await rejection(pulled(cluster[member]!, asked))).toEqual(refusal('ERR_RDMC_LOG_INCOMPLETE'));
  }
  // The former leader does not divide, and does not take the backups' answers back to its own attempt.
  expect(await first.divide(SHARES)).toMatchObject({
    segments: former.segments.map(() => ({ sources: [] })),
  });
  expect(await pulled(cluster[3]!, division)).toEqual(expected(SHARES[1]!));
  await second.close();
});

it('a pull ends when its signal says so, and its reason is that of the signal', async () => {
  const { cluster, logId } = await rig(5);
  const recovery = await begin(cluster[2]!, logId);
  const division = await recovery.divide(SHARES);
  const [asked, over] = [new Deferred<void>(), new Deferred<never>()];
  over.promise.catch(() => {});
  for (const { backup } of cluster.slice(1)) {
    backup.load = () => {
      asked.resolve();
      return over.promise;
    };
  }
  const end = new AbortController();
  const ended = rejection(pulled(cluster[2]!, division, end.signal));
  await asked.promise;
  end.abort(new Error('given up'));
  expect(await ended).toMatchObject({ message: 'given up' });
  over.reject(new Error('over'));
  await recovery.close();
});

it('a backup without a divider is not asked', async () => {
  const cluster = await startCluster(4);
  await startCoordinator(cluster[1]!);
  const log = await coordinatedLog(cluster[0]!, 1);
  await log.append(object(1)).acknowledged;
  await cluster[0]!.kill();
  const recovery = await begin(cluster[2]!, log.id);
  const division = await recovery.divide([{ member: 2, ranges: [[0, 99]] }]);
  expect(division.segments.flatMap(({ sources }) => sources)).toEqual([]);
  expect(await rejection(pulled(cluster[2]!, division))).toEqual(refusal('ERR_RDMC_LOG_INCOMPLETE'));
  await recovery.close();
});

async function flipBit(
  { directory, backup }: ClusterMember,
  segmentId: bigint,
  logId: bigint,
): Promise<void> {
  await backup.flushed({ logId, segmentId });
  const path = `${directory}/${segmentKey({ logId, segmentId })}.replica`;
  const bytes = await readFile(path);
  bytes[4096 + SEGMENT / 4]! ^= 1;
  await writeFile(path, bytes);
}

it('the parts come in the memory that the heir gives', async () => {
  const { cluster, logId } = await rig(4);
  const leader = cluster[1]!;
  const recovery = await begin(leader, logId);
  const division = await recovery.divide([{ member: 1, ranges: [[0, 99]] }]);
  const given: Buffer[] = [];
  const allocate = (byteLength: number): Buffer => {
    given.push(Buffer.from(new SharedArrayBuffer(byteLength)));
    return given.at(-1)!;
  };
  const got: Buffer[] = [];
  for await (const { bytes } of leader.logs.pull({ division, allocate })) {
    if (bytes.length > 0) got.push(bytes);
  }
  expect(got.length).toBeGreaterThan(0);
  expect(got.every((bytes) => given.includes(bytes))).toBe(true);
  const versions = got.flatMap((bytes) =>
    [...segmentEntries(bytes, bytes.length)].map(({ payload }) => decodeObject(payload).version),
  );
  expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: OBJECTS }, (_, number) => number));
  await recovery.close();
});

it.each([
  ['more bytes', (byteLength: number) => Buffer.alloc(byteLength + 12), refusal('ERR_RDMC_INVALID_OPTION')],
  ['fewer bytes', (byteLength: number) => Buffer.alloc(byteLength - 1), refusal('ERR_RDMC_INVALID_OPTION')],
  ['an error', () => fail(), NO_MEMORY],
])('a pull ends where the heir gives %s for a part', async (_, allocate, failure) => {
  const { cluster, logId } = await rig(4);
  const leader = cluster[1]!;
  const recovery = await begin(leader, logId);
  const division = await recovery.divide([{ member: 1, ranges: [[0, 99]] }]);
  const parts = leader.logs.pull({ division, allocate });
  const ended = rejection(
    (async () => {
      for await (const { bytes } of parts) expect(bytes.length).toBe(0);
    })(),
  );
  expect(await ended).toEqual(failure);
  await recovery.close();
});
