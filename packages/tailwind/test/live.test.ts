/** Logs where the coordinator and backups are lost and return while the others run. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeObject, EntryType, encodeTombstone, type Log } from '@rdmc/tailwind';
import { PATIENT, until } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { object, SEGMENT } from './support/cluster.js';
import { LiveCluster, type LiveMember } from './support/live-cluster.js';

const TOMBSTONE = {
  type: EntryType.TOMBSTONE,
  parts: encodeTombstone(1, 0n, Buffer.from('of no object')),
};

const REPLICAS = 2;

async function createLog(
  { node, coordinator }: LiveMember,
  backups: readonly number[] | (() => readonly number[]),
  thread: 'worker' | 'application' = 'worker',
): Promise<Log> {
  const { logId, incarnation } = await coordinator.createLog();
  const setup = {
    authority: coordinator,
    logId,
    incarnation,
    segmentBytes: SEGMENT,
    replicas: REPLICAS,
    ...PATIENT,
    thread,
  };
  const log = await node.logs.create({ ...setup, backups });
  onTestFinished(() => log.close());
  return log;
}

/** Appends objects with these numbers; resolves when all are acknowledged. */
async function append(log: Log, from: number, to: number): Promise<void> {
  const all = Array.from({ length: to - from }, (_, index) => log.append(object(from + index, 1000)));
  await Promise.all(all.map(({ acknowledged }) => acknowledged));
}

async function recoveredBy({ node, coordinator }: LiveMember, logId: bigint): Promise<number[]> {
  const recovery = await node.logs.recover({ coordinator, logId, backups: [1, 2, 3, 4] });
  const versions: number[] = [];
  for await (const segment of recovery.segments()) {
    for (const { type, payload } of segment.entries()) {
      if (type === EntryType.OBJECT) versions.push(decodeObject(payload).version);
    }
  }
  await recovery.close();
  return versions;
}

/** False while the member has no connection to the coordinator. */
const isReached = ({ coordinator }: LiveMember, { id }: Log): Promise<boolean> =>
  coordinator.log(id).then(
    () => true,
    () => false,
  );

/** False while a backup is missing. */
function accepts(log: Log): boolean {
  try {
    log.append(TOMBSTONE).acknowledged.catch(() => {});
    return true;
  } catch {
    return false;
  }
}

const filesOf = ({ directory }: LiveMember): string[] =>
  readdirSync(directory).filter((name) => name.endsWith('.replica'));

/** Another one for each file that was ever written. */
const fileNumber = ({ directory }: LiveMember, name: string): bigint =>
  statSync(join(directory, name), { bigint: true }).ino;

/** Changes a byte of the entries in a replica's file. Returns whether it is as changed. */
function damage(path: string): () => boolean {
  const bytes = readFileSync(path);
  const at = bytes.length >> 1;
  const value = bytes[at]! ^ 0xff;
  bytes[at] = value;
  writeFileSync(path, bytes);
  return () => readFileSync(path)[at] === value;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

function connected({ node }: LiveMember, members: readonly number[]): Promise<void> {
  return until(() => members.every((id) => node.mesh.peers.get(id)?.state === 'connected'));
}

it('a log is written while its coordinator is away, and finds the one that follows it', async () => {
  const cluster = await LiveCluster.start();
  const primary = await cluster.enter(1);
  await cluster.enter(2);
  const third = await cluster.enter(3);
  await connected(primary, [2, 3]);
  await connected(third, [2]);
  const log = await createLog(primary, [2, 3]);
  const lease = await primary.coordinator.lease(log.id);
  onTestFinished(() => lease.close());
  await append(log, 0, 40);
  const { term } = cluster;

  await cluster.killCoordinator();
  // More than a segment: opening and closing them does not need the coordinator.
  await append(log, 40, 80);
  await until(() => !lease.valid);
  await append(log, 80, 120);
  expect(log.signal.aborted).toBe(false);

  await cluster.startCoordinator();
  expect(cluster.term).toBe(term + 1);
  await until(() => lease.valid);
  await append(log, 120, 121);
  // Each member finds the new coordinator by itself.
  await until(() => isReached(third, log));
  await primary.kill();
  expect(await recoveredBy(third, log.id)).toEqual(numbers(121));
});

it.each(['worker', 'application'] as const)(
  'a backup that returns with its files is used again, and frees what was replaced: thread %s',
  async (thread) => {
    const cluster = await LiveCluster.start();
    const [primary, second, fourth] = [
      await cluster.enter(1),
      await cluster.enter(2),
      await cluster.enter(4),
    ];
    const third = await cluster.enter(3);
    await connected(primary, [2, 3]);
    await connected(fourth, [1, 2, 3]);
    const log = await createLog(primary, [2, 3], thread);
    await append(log, 0, 90);
    await until(() => filesOf(third).length >= 3);
    // The log may not know yet that the last one is closed.
    const [damaged, ...intact] = filesOf(third).sort().slice(0, -1);

    // Nothing is acknowledged while one of the two backups is gone.
    await third.kill();
    const before = new Map(intact.map((name) => [name, fileNumber(third, name)]));
    const isDamaged = damage(join(third.directory, damaged!));
    const back = await cluster.enter(3, third.directory);
    await until(() => accepts(log));
    await append(log, 90, 91);
    await append(log, 91, 130);
    // Every segment has two replicas again: what the primary and the other backup have had is not needed.
    await until(() => back.backup.segmentsOf(log.id).length === log.segmentIds.length);
    // Complete files are taken as they are, and others are copied.
    await until(() => !isDamaged());
    for (const [name, number] of before) expect(fileNumber(back, name), name).toBe(number);
    await primary.kill();
    await second.kill();
    expect(await recoveredBy(fourth, log.id)).toEqual(numbers(130));
  },
);

it('replicas of a backup that returns are freed when others have taken their place', async () => {
  const cluster = await LiveCluster.start();
  const primary = await cluster.enter(1);
  const others = [await cluster.enter(2), await cluster.enter(4)];
  const third = await cluster.enter(3);
  await connected(primary, [2, 3, 4]);
  const log = await createLog(primary, [2, 3, 4]);
  await append(log, 0, 60);
  // Backups that are slower than this loop would run out of buffers: it waits until they have written all segments but two.
  const isWritten = (): boolean =>
    [...others, third].flatMap(filesOf).length >= REPLICAS * (log.segmentIds.length - 2);
  while (filesOf(third).length < 2) {
    await append(log, 60, 75);
    await until(isWritten);
  }
  await third.kill();
  const isHeld = (id: bigint): boolean =>
    others.every(({ backup }) => backup.segmentsOf(log.id).includes(id));
  await until(() => log.segmentIds.every(isHeld));
  const before = log.segmentIds;
  const back = await cluster.enter(3, third.directory);
  await until(() => !back.backup.segmentsOf(log.id).some((id) => before.includes(id)));
  await until(() => filesOf(back).length === 0);
  await append(log, 75, 120);
  expect(log.signal.aborted).toBe(false);
});

it('a backup that returns and is to go frees what others have, and gets nothing new', async () => {
  const cluster = await LiveCluster.start();
  const primary = await cluster.enter(1);
  const others = [await cluster.enter(2), await cluster.enter(4)];
  const third = await cluster.enter(3);
  await connected(primary, [2, 3, 4]);
  let backups = [2, 3];
  const log = await createLog(primary, () => backups);
  await append(log, 0, 60);
  await until(() => filesOf(third).length > 0);
  backups = [2, 4];
  await third.kill();
  const isHeld = (id: bigint): boolean =>
    others.every(({ backup }) => backup.segmentsOf(log.id).includes(id));
  await until(() => log.segmentIds.every(isHeld));
  const back = await cluster.enter(3, third.directory);
  await until(() => filesOf(back).length === 0);
  await append(log, 60, 100);
  expect(back.backup.segmentsOf(log.id)).toEqual([]);
  expect(log.signal.aborted).toBe(false);
});

it('a backup that returns does not take a log from another member, or one that is not being written', async () => {
  const cluster = await LiveCluster.start();
  const [primary, third] = [await cluster.enter(1), await cluster.enter(3)];
  const second = await cluster.enter(2);
  await connected(primary, [2, 3]);
  const log = await createLog(primary, [2, 3]);
  await append(log, 0, 60);
  await until(() => filesOf(second).length > 0);
  await log.close();
  await second.kill();
  await cluster.enter(2, second.directory);
  await connected(primary, [2]);
  await connected(third, [2]);
  const claim = { op: 'claim', logId: String(log.id), session: '0'.repeat(32) };
  const ask = ({ node }: LiveMember, resumes: boolean) =>
    node.mesh.request(2, 'tailwind.backup', { ...claim, resumes });
  await expect(ask(third, true)).rejects.toMatchObject({ code: 'ERR_RDMC_NOT_OWNER' });
  await expect(ask(primary, false)).rejects.toMatchObject({ code: 'ERR_RDMC_LOG_EXISTS' });
  await expect(ask(primary, true)).resolves.toBeNull();
});
