/** Backups forget recovered logs; then no member can write these logs. */

import { subscription } from '@rdmc/common';
import type { Recovery } from '@rdmc/tailwind';
import type { LogRecord } from '@rdmc/tailwind/coordinator';
import { refusal, until } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { BackupService } from '../src/rpc/backup-service.js';
import { WorkerLink } from '../src/worker-link.js';
import {
  type ClusterMember,
  coordinatedLog,
  object,
  planeOf,
  SEGMENT,
  startCluster,
  startCoordinator,
} from './support/cluster.js';

const COORDINATOR = 1;
const SESSION = 'a'.repeat(32);

/** Member 0 writes, member 1 is the coordinator, and every backup asks it. */
async function rig(): Promise<ClusterMember[]> {
  const cluster = await startCluster(4, { coordinator: COORDINATOR });
  await startCoordinator(cluster[COORDINATOR]!);
  return cluster;
}

function begin({ logs }: ClusterMember, logId: bigint): Promise<Recovery> {
  return logs.recover({ coordinator: logs.coordinator(COORDINATOR), logId });
}

function fenced(cluster: readonly ClusterMember[]): bigint[] {
  return cluster.flatMap(({ backup }) => backup.fencedLogs);
}

/** A log of member 0, which stays alive while another member recovers it. */
async function recoveredLog(cluster: readonly ClusterMember[]): Promise<bigint> {
  const log = await coordinatedLog(cluster[0]!, COORDINATOR, { replicas: 2 });
  await log.append(object(1)).acknowledged;
  const recovery = await begin(cluster[2]!, log.id);
  await recovery.finish([]);
  return log.id;
}

/** Waits until a log with two backups has its next segment, too: it opens that ahead, at any of the members. */
function nextIsOpen(cluster: readonly ClusterMember[], logId: bigint): Promise<void> {
  const refs = [1n, 2n].map((segmentId) => ({ logId, segmentId }));
  const replicas = () => cluster.flatMap(({ backup }) => refs.filter((ref) => backup.holds(ref)));
  return until(() => replicas().length === 4);
}

it('keeps nothing about recovered logs, however many there were', async () => {
  const cluster = await rig();
  for (let round = 0; round < 5; round += 1) await recoveredLog(cluster);
  expect(new Set(fenced(cluster)).size).toBe(5);
  await Promise.all(cluster.map(({ service }) => service.freeRecovered()));
  expect(fenced(cluster)).toEqual([]);
});

it('keeps the replicas of live logs, and of a log during its recovery', async () => {
  const cluster = await rig();
  const log = await coordinatedLog(cluster[0]!, COORDINATOR, { replicas: 2 });
  const other = await coordinatedLog(cluster[3]!, COORDINATOR, { replicas: 2 });
  await log.append(object(1)).acknowledged;
  for (const { id } of [log, other]) await nextIsOpen(cluster, id);
  const recovery = await begin(cluster[2]!, log.id);
  const held = () => cluster.map(({ backup }) => backup.logIds);
  const before = held();
  await Promise.all(cluster.map(({ service }) => service.freeRecovered()));
  expect(new Set(fenced(cluster))).toEqual(new Set([log.id]));
  expect(held()).toEqual(before);
  await recovery.close();
  await other.append(object(1)).acknowledged;
});

it('does not let any member write a recovered log, although the backup has removed its fence', async () => {
  const cluster = await rig();
  const logId = await recoveredLog(cluster);
  await Promise.all(cluster.map(({ service }) => service.freeRecovered()));
  const { mesh, logs } = cluster[0]!;
  const ask = (body: object) =>
    mesh.request(3, 'tailwind.backup', { logId: String(logId), segmentId: '1', ...body });
  await expect(
    mesh.request(3, 'tailwind.backup', { op: 'claim', logId: String(logId), session: SESSION }),
  ).rejects.toEqual(refusal('ERR_RDMC_LOG_FENCED'));
  const opening = { incarnation: 1, epoch: 1, segmentBytes: SEGMENT, survivor: false, pair: null };
  for (const committed of [true, false]) {
    await expect(ask({ op: 'open', ...opening, committed })).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
  }
  const again = logs.create({
    authority: logs.coordinator(COORDINATOR),
    logId,
    incarnation: 1,
    segmentBytes: SEGMENT,
    replicas: 2,
  });
  await expect(again).rejects.toEqual(refusal('ERR_RDMC_LOG_FENCED'));
  // Another member cannot claim a live log either.
  const log = await coordinatedLog(cluster[0]!, COORDINATOR, { replicas: 2, backups: [1, 2] });
  const stolen = cluster[2]!.mesh.request(3, 'tailwind.backup', {
    op: 'claim',
    logId: String(log.id),
    session: SESSION,
  });
  await expect(stolen).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
  expect(cluster[3]!.backup.logIds).toEqual([]);
});

it('stays fenced while a claim waits for an answer of the coordinator, which may be out of date', async () => {
  const [member] = await startCluster(1);
  const { node, backup } = member!;
  const plane = planeOf(node);
  const answers: ((record: LogRecord) => void)[] = [];
  const coordinator = { log: () => new Promise<LogRecord>((resolve) => answers.push(resolve)) };
  let ask: (from: number, body: object) => unknown = () => {};
  const mesh = {
    onRequest: (_: string, handler: typeof ask) => {
      ask = handler;
      return none;
    },
    onFailure: () => none,
    onLeave: () => none,
    members: [],
    peers: new Map(),
  };
  const parts = { mesh, plane, link: await WorkerLink.inline(plane), logger: undefined, open: new Set() };
  const service = BackupService.serve(parts as never, backup as never, { coordinator: coordinator as never });
  const log = { logId: 7n, owner: 0, ownerIncarnation: 0 } as LogRecord;
  const claim = ask(0, { op: 'claim', logId: '7', session: SESSION });
  backup.fence(7n);
  const sweep = async (): Promise<void> => {
    const swept = service.freeRecovered();
    answers.at(-1)!({ ...log, state: 'recovered' });
    await swept;
  };
  await sweep();
  expect(backup.fencedLogs).toEqual([7n]);
  answers[0]!({ ...log, state: 'live' });
  await expect(claim).rejects.toEqual(refusal('ERR_RDMC_LOG_FENCED'));
  await sweep();
  expect(backup.fencedLogs).toEqual([]);
  await service.close();
  await parts.link.close();
});

const none = subscription(() => {});
