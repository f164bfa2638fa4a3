/** Salvage of a log whose end was lost with the memory of all its backups. */

import { readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeObject, EntryType } from '@rdmc/tailwind';
import { FileStore } from '@rdmc/tailwind/coordinator';
import { encodeDigest, type planRecovery, segmentEntries } from '@rdmc/tailwind/format';
import {
  acceptLoss,
  knownLogs,
  type LogSurvey,
  lockReplicaDirectory,
  type ReplicaDirectory,
  type ReplicaFile,
  readReplicaDirectory,
  readWhole,
  surveyLog,
} from '@rdmc/tailwind/salvage';
import { temporaryDirectory, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { planSalvage } from '../src/recovery/plan.js';
import { segmentKey } from '../src/segment-key.js';
import { ReplicaStore } from '../src/storage/replica-store.js';
import { CLUSTER, filesIn } from './support/backups.js';
import { coordinatedLog, object, startCluster, startCoordinator } from './support/cluster.js';
import { sampleSegment } from './support/segments.js';

const OBJECTS = 700;
const incomplete = expect.objectContaining({ code: 'ERR_RDMC_LOG_INCOMPLETE' });

/** A cluster whose processes all died at once; member 1 was the coordinator. */
async function killedCluster() {
  const cluster = await startCluster(4);
  const path = join(temporaryDirectory(), 'state');
  const coordinator = await startCoordinator(cluster[1]!, {}, path);
  const log = await coordinatedLog(cluster[0]!, 1, { replicas: 3 });
  // In groups: the intact prefix of a damaged segment ends with one of them.
  for (let from = 0; from < OBJECTS; from += 20) {
    const group = Array.from({ length: 20 }, (_, index) => log.append(object(from + index)).acknowledged);
    await Promise.all(group);
  }
  const directories = cluster.map(({ directory }) => directory);
  await until(() => directories.slice(1).every((each) => filesIn(each).length >= 3));
  await Promise.all(cluster.map((member) => member.kill()));
  await coordinator.close();
  const files = (await readAll(directories)).flatMap((each) => each.files);
  const segmentIds = [...new Set(files.map(({ record }) => record.segmentId))].sort((a, b) => Number(a - b));
  return { path, directories, logId: log.id, segmentIds };
}

/** Versions of the objects that a survey found. */
async function versionsIn({ segments }: LogSurvey): Promise<number[]> {
  const versions: number[] = [];
  for (const { file, byteLength } of segments) {
    for (const { type, payload } of segmentEntries(await readWhole(file), byteLength)) {
      if (type === EntryType.OBJECT) versions.push(decodeObject(payload).version);
    }
  }
  return versions;
}

async function readAll(directories: readonly string[]): Promise<ReplicaDirectory[]> {
  return Promise.all(directories.map((each) => readReplicaDirectory(each, CLUSTER)));
}

it('discards missing data when the loss is accepted, and recovers exactly the data of the survey', async () => {
  const { path, directories, logId, segmentIds } = await killedCluster();
  const [damaged, lost] = [segmentIds[0]!, segmentIds[1]!];
  for (const directory of directories.slice(1)) {
    const file = join(directory, `${segmentKey({ logId, segmentId: damaged })}.replica`);
    const bytes = await readFile(file);
    bytes[12_000]! ^= 0xff;
    await writeFile(file, bytes);
    await rm(join(directory, `${segmentKey({ logId, segmentId: lost })}.replica`));
  }
  const store = await FileStore.open(path);
  const known = await knownLogs(store);
  expect(known!.logs.map((log) => log.logId)).toEqual([logId]);
  const survey = surveyLog(logId, await readAll(directories), known!.logs[0]!.minimum);
  const rest = segmentIds.slice(2);
  expect(survey).toMatchObject({ isComplete: false, isEndMissing: true, missing: [lost] });
  expect(survey.segments.map(({ segmentId }) => segmentId)).toEqual([damaged, ...rest]);
  expect(survey.segments[0]!.byteLength).toBeGreaterThan(4096);
  expect(survey.segments[0]!.byteLength).toBeLessThan(12_000);
  const expected = await versionsIn(survey);
  await store.close();

  const cluster = await startCluster(4, { directories });
  await expect(lockReplicaDirectory(directories[2]!)).rejects.toMatchObject({
    code: 'ERR_RDMC_STATE_LOCKED',
  });
  const { logs } = cluster[2]!;
  const begin = () => logs.recover({ coordinator: logs.coordinator(1), logId });
  let coordinator = await startCoordinator(cluster[1]!, {}, path);
  await expect(begin()).rejects.toEqual(incomplete);
  await coordinator.close();
  const again = await FileStore.open(path);
  await acceptLoss(again, survey);
  await again.close();
  coordinator = await startCoordinator(cluster[1]!, {}, path);
  const recovery = await begin();
  const found: number[] = [];
  for await (const segment of recovery.segments()) {
    for (const { type, payload } of segment.entries()) {
      if (type === EntryType.OBJECT) found.push(decodeObject(payload).version);
    }
  }
  expect(found).toEqual(expected);
  expect(found.length).toBeLessThan(OBJECTS);
  await recovery.finish([]);
  for (const directory of directories) expect(filesIn(directory)).toEqual([]);
  await coordinator.close();
  const last = await FileStore.open(path);
  await expect(acceptLoss(last, survey)).rejects.toMatchObject({ code: 'ERR_RDMC_LOG_STATE' });
  await last.close();
});

it('reports that nothing is missing when all data is in files', async () => {
  const cluster = await startCluster(4);
  const path = join(temporaryDirectory(), 'state');
  const coordinator = await startCoordinator(cluster[1]!, {}, path);
  const log = await coordinatedLog(cluster[0]!, 1, { replicas: 3 });
  await Promise.all(Array.from({ length: 300 }, (_, number) => log.append(object(number)).acknowledged));
  const [record] = await coordinator.logs();
  for (const { backup } of cluster) await backup.dump();
  const directories = await readAll(cluster.map(({ directory }) => directory));
  const survey = surveyLog(log.id, directories, record!.minimum);
  expect(survey).toMatchObject({ isComplete: true, isEndMissing: false, missing: [] });
  expect(await versionsIn(survey)).toEqual(Array.from({ length: 300 }, (_, number) => number));
});

/** A closed replica's file, with the properties that a survey uses. */
function file(segmentId: bigint, digest: readonly bigint[] | undefined, byteLength = 100): ReplicaFile {
  const record = { logId: 1n, segmentId, state: 'closed', committed: true, survivor: digest === undefined };
  return {
    path: `${segmentId}`,
    record,
    scan: { status: 'ok', offset: byteLength, checksum: 1, reason: 'end' },
    digest: digest && encodeDigest(digest),
  } as unknown as ReplicaFile;
}

it('leaves out segments that were cleaned, although their files are still there', () => {
  const files = [file(1n, [1n]), file(2n, [1n, 2n]), file(5n, undefined), file(6n, [2n, 4n, 5n, 6n])];
  const directory = { directory: '/', files, damaged: [] };
  const survey = surveyLog(1n, [directory], { segmentId: 0n, epoch: 0 });
  expect(survey.segments.map(({ segmentId }) => segmentId)).toEqual([2n, 5n, 6n]);
  expect(survey.missing).toEqual([4n]);
});

describe('a survivor of cleaning that the newest digest does not name', () => {
  it.each<[string, ReplicaFile[], bigint[]]>([
    [
      'is there when that head was opened in the middle of the round, and what was cleaned is gone',
      [file(12n, [10n, 12n]), file(20n, undefined), file(21n, [10n, 12n, 21n])],
      [12n, 20n, 21n],
    ],
    [
      'is left out when an earlier digest names it',
      [file(20n, undefined), file(21n, [20n, 21n]), file(30n, [19n, 30n])],
      [30n],
    ],
    [
      'is left out when a digest names a later survivor',
      [file(20n, undefined), file(25n, undefined), file(30n, [19n, 25n, 30n])],
      [25n, 30n],
    ],
    [
      'is left out when all is whole that it may be copied from',
      [file(19n, [19n]), file(20n, undefined), file(30n, [19n, 30n])],
      [19n, 30n],
    ],
  ])('%s', (_, files, expected) => {
    const survey = surveyLog(1n, [{ directory: '/', files, damaged: [] }], { segmentId: 0n, epoch: 0 });
    expect(survey.segments.map(({ segmentId }) => segmentId)).toEqual(expected);
  });

  it('is doubtful if it is kept, unlike segments that the newest digest names, or could not name', () => {
    const files = [
      file(12n, [10n, 12n]),
      file(20n, undefined),
      file(21n, [10n, 12n, 21n]),
      file(22n, undefined),
    ];
    const survey = surveyLog(1n, [{ directory: '/', files, damaged: [] }], { segmentId: 0n, epoch: 0 });
    expect(survey.segments.map(({ segmentId }) => segmentId)).toEqual([12n, 20n, 21n, 22n]);
    expect(survey.doubtful).toEqual([20n]);
  });

  it('of an old round that its backup could not remove, beside a source that is damaged, is doubtful', () => {
    // Segment 20 was cleaned by a round without survivors: a key in it was removed, and the tombstone has expired.
    const damaged = { ...file(19n, [19n]), scan: { status: 'damaged', offset: 50, checksum: 1 } };
    const files = [damaged as unknown as ReplicaFile, file(20n, undefined), file(30n, [19n, 30n])];
    const survey = surveyLog(1n, [{ directory: '/', files, damaged: [] }], { segmentId: 0n, epoch: 0 });
    expect(survey.segments.map(({ segmentId }) => segmentId)).toEqual([19n, 20n, 30n]);
    expect(survey.doubtful).toEqual([20n]);
  });
});

it('a file that its backup would refuse is damaged', async () => {
  const directory = temporaryDirectory();
  const { store } = await ReplicaStore.open(directory, CLUSTER, 1);
  const ids = [1n, 2n, 3n];
  const paths = ids.map((segmentId) => store.pathOf({ logId: 1n, segmentId }));
  for (const segmentId of ids) {
    const { bytes, ends } = sampleSegment(8192, [[100], [100]], { logId: 1n, segmentId, incarnation: 1 });
    const byteLength = ends.at(-1)!;
    const kind = { state: 'open', committed: true, survivor: false } as const;
    const size = { byteLength, checksum: 0, floorBytes: 0, segmentBytes: 8192 };
    await store.write({ logId: 1n, segmentId, incarnation: 1, epoch: 1, ...kind, ...size }, bytes);
  }
  await store.close();
  await truncate(paths[1]!, (await stat(paths[1]!)).size - 1);
  const renamed = join(directory, `${segmentKey({ logId: 1n, segmentId: 4n })}.replica`);
  await rename(paths[2]!, renamed);
  const { files, damaged } = await readReplicaDirectory(directory, CLUSTER);
  expect(files.map(({ path }) => path)).toEqual([paths[0]]);
  expect(damaged.map(({ path, code }) => [path, code])).toEqual([
    [paths[1], 'ERR_RDMC_REPLICA_DAMAGED'],
    [renamed, 'ERR_RDMC_REPLICA_DAMAGED'],
  ]);
});

it('takes the longest of the files of a segment', () => {
  const directories = [50, 90, 70].map((byteLength) => ({
    directory: '/',
    files: [file(1n, [1n], byteLength)],
    damaged: [],
  }));
  const survey = surveyLog(1n, directories, { segmentId: 0n, epoch: 0 });
  expect(survey.segments.map(({ byteLength }) => byteLength)).toEqual([90]);
});

it('finds nothing for a log without files', () => {
  const survey = surveyLog(1n, [], { segmentId: 0n, epoch: 0 });
  expect(survey).toEqual({
    logId: 1n,
    isComplete: false,
    segments: [],
    missing: [],
    isEndMissing: true,
    doubtful: [],
  });
  expect(planSalvage(1n, [], []).segments).toEqual([]);
});

it('a recovery after an accepted loss refuses if it finds less than was accepted', () => {
  const closed = { segmentId: 1n, state: 'closed', byteLength: 90, scan: null };
  const open = { segmentId: 2n, state: 'open', byteLength: 4096, scan: { status: 'ok', offset: 50 } };
  const inventories = [
    { member: 1, replicas: [closed] },
    { member: 2, replicas: [closed, open] },
  ] as unknown as Parameters<typeof planRecovery>[1];
  const plan = planSalvage(1n, inventories, [
    { segmentId: 1n, byteLength: 80 },
    { segmentId: 2n, byteLength: 50 },
  ]);
  expect(plan.segments).toEqual([
    { segmentId: 1n, candidates: [1, 2], floorBytes: 80, checksum: null },
    { segmentId: 2n, candidates: [2], floorBytes: 50, checksum: null },
  ]);
  for (const accepted of [
    { segmentId: 1n, byteLength: 91 },
    { segmentId: 2n, byteLength: 51 },
    { segmentId: 3n, byteLength: 1 },
  ]) {
    expect(() => planSalvage(1n, inventories, [accepted])).toThrow(incomplete);
  }
});
