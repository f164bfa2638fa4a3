import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Subscription, subscription } from '@rdmc/common';
import { decodeObject, EntryType, type Log, type Recovery, TailwindError } from '@rdmc/tailwind';
import { refusal, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { BackupService } from '../src/rpc/backup-service.js';
import { segmentKey } from '../src/segment-key.js';
import { WorkerLink } from '../src/worker-link.js';
import { filesIn } from './support/backups.js';
import {
  type ClusterMember,
  coordinatedLog,
  object,
  planeOf,
  SEGMENT,
  startCluster,
  startCoordinator,
} from './support/cluster.js';

function begin({ logs }: ClusterMember, logId: bigint): Promise<Recovery> {
  return logs.recover({ coordinator: logs.coordinator(1), logId });
}

/** Versions of all objects, in the log's order. */
async function replay(recovery: Recovery): Promise<number[]> {
  const versions: number[] = [];
  for await (const segment of recovery.segments()) {
    for (const { type, payload } of segment.entries()) {
      if (type === EntryType.OBJECT) versions.push(decodeObject(payload).version);
    }
  }
  return versions;
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}

async function appendAll(log: Log, from: number, to: number): Promise<void> {
  await Promise.all(upTo(to - from).map((number) => log.append(object(from + number)).acknowledged));
}

/** Member 0 is the primary; member 1 is also the coordinator. */
async function rig(members: number, objects: number, replicas = 3) {
  const cluster = await startCluster(members);
  await startCoordinator(cluster[1]!);
  const log = await coordinatedLog(cluster[0]!, 1, { replicas });
  await appendAll(log, 0, objects);
  return { cluster, log };
}

describe('recovery', () => {
  it('gives all acknowledged data, in order, to another member, which may be a backup itself', async () => {
    const { cluster, log } = await rig(5, 700);
    await cluster[0]!.kill();
    const recovery = await begin(cluster[2]!, log.id);
    expect(await replay(recovery)).toEqual(upTo(700));
    const successor = await coordinatedLog(cluster[2]!, 1, { replicas: 2 });
    for await (const segment of recovery.segments()) {
      const appends = [];
      for (const { type, payload } of segment.entries()) {
        if (type === EntryType.OBJECT) appends.push(successor.append({ type, parts: [payload.slice()] }));
      }
      await Promise.all(appends.map(({ acknowledged }) => acknowledged));
    }
    await recovery.finish([successor.id]);
    for (const { id, backup } of cluster) {
      if (id > 0) expect(await backup.inventory(log.id)).toEqual([]);
    }
    await cluster[2]!.kill();
    const again = await begin(cluster[3]!, successor.id);
    expect(await replay(again)).toEqual(upTo(700));
    await again.close();
  });

  it('survives the loss of the primary and r − 1 backups', async () => {
    const { cluster, log } = await rig(6, 400);
    const victims = log.backups.filter((id) => id !== 1).slice(0, 2);
    await Promise.all([cluster[0]!.kill(), ...victims.map((id) => cluster[id]!.kill())]);
    const survivor = cluster.find(({ id }) => id > 1 && !victims.includes(id))!;
    const recovery = await begin(survivor, log.id);
    expect(await replay(recovery)).toEqual(upTo(400));
    await recovery.close();
  });

  it('refuses, names the missing segments and discards nothing when too much is lost', async () => {
    const { cluster, log } = await rig(5, 400, 1);
    const [victim] = log.backups;
    // The coordinator's member stays, so its replicas cannot be the lost ones.
    for (const segmentId of log.segmentIds) {
      await cluster[1]!.backup.freeReplica({ logId: log.id, segmentId });
    }
    await Promise.all([cluster[0]!.kill(), ...(victim === 1 ? [] : [cluster[victim!]!.kill()])]);
    const survivor = cluster.find(({ id }) => id > 1 && id !== victim)!;
    const attempt = begin(survivor, log.id);
    await expect(attempt).rejects.toEqual(refusal('ERR_RDMC_LOG_INCOMPLETE'));
    const [record] = await survivor.logs.coordinator(1).logs();
    // No attempt is running now: any other member may try.
    expect(record).toMatchObject({ state: 'recovering', recoverer: null });
  });

  it('fences a live primary: its acknowledged data is found, and it acknowledges nothing more', async () => {
    const { cluster, log } = await rig(5, 50);
    let acknowledged = 50;
    const ended = (async () => {
      for (let number = 50; ; number += 1) {
        await log.append(object(number)).acknowledged;
        acknowledged = number + 1;
      }
    })().catch((error: unknown) => error);
    while (acknowledged < 100) await new Promise((resolve) => setImmediate(resolve));
    const recovery = await begin(cluster[3]!, log.id);
    const versions = await replay(recovery);
    expect(await ended).toEqual(refusal('ERR_RDMC_LOG_FENCED'));
    expect(versions).toEqual(upTo(versions.length));
    expect(versions.length).toBeGreaterThanOrEqual(acknowledged);
    await recovery.close();
  });

  it('uses another replica when one is damaged', async () => {
    const { cluster, log } = await rig(4, 300);
    await log.append(object(300, 100)).acknowledged;
    await cluster[0]!.kill();
    // Closed segments are in files now or soon; a flipped bit makes one replica unusable, not the log.
    let seen = 0;
    for (const member of [cluster[1]!, cluster[2]!]) {
      const { backup } = member;
      for (const { record } of await backup.inventory(log.id)) {
        if (record.state !== 'closed') continue;
        await backup.flushed(record);
        await flipBit(member, record.segmentId, log.id);
      }
      const load = backup.load.bind(backup);
      backup.load = (ref, use) =>
        load(ref, (scanned) => {
          if (scanned.result.status === 'corrupt') seen += 1;
          return use(scanned);
        });
    }
    const recovery = await begin(cluster[3]!, log.id);
    expect(await replay(recovery)).toEqual(upTo(301));
    await recovery.close();
    // Backups take turns, so one of the damaged ones was asked first for some segment.
    expect(seen).toBeGreaterThan(0);
  });

  it('finds everything after a power failure: buffers were dumped, and all processes are new', async () => {
    const before = await startCluster(4);
    const path = join(temporaryDirectory(), 'state');
    const coordinator = await startCoordinator(before[1]!, {}, path);
    const log = await coordinatedLog(before[0]!, 1);
    await appendAll(log, 0, 250);
    await Promise.all(before.map(({ backup }) => backup.dump()));
    await Promise.all(before.map((member) => member.kill()));
    await coordinator.close();
    const after = await startCluster(4, { directories: before.map(({ directory }) => directory) });
    await startCoordinator(after[1]!, {}, path);
    const recovery = await begin(after[2]!, log.id);
    expect(await replay(recovery)).toEqual(upTo(250));
    await recovery.finish([]);
    for (const { directory } of after) expect(filesIn(directory)).toEqual([]);
  });

  it('works after backups were replaced', async () => {
    const { cluster, log } = await rig(6, 100, 2);
    const victim = log.backups.find((id) => id !== 1)!;
    await cluster[victim]!.kill();
    await appendAll(log, 100, 300);
    await cluster[0]!.kill();
    const survivor = cluster.find(({ id }) => id > 1 && id !== victim)!;
    const recovery = await begin(survivor, log.id);
    expect(await replay(recovery)).toEqual(upTo(300));
    await recovery.close();
  });

  it('ignores stale replicas, even if no others are left', async () => {
    const cluster = await startCluster(7);
    await startCoordinator(cluster[1]!);
    const log = await coordinatedLog(cluster[0]!, 1, { replicas: 2, backups: [2, 3, 4, 5] });
    await appendAll(log, 0, 20);
    const stale = cluster[log.backups[0]!]!;
    // It lives and keeps its replicas, but the primary cannot reach it.
    stale.backup.freeReplica = async () => {};
    const pairs = upTo(20);
    await Promise.all(
      pairs.map((pair) => cluster[0]!.mesh.request(stale.id, 'tailwind.backup', { op: 'disconnect', pair })),
    );
    await appendAll(log, 20, 40);
    expect(log.backups).not.toContain(stale.id);
    expect(stale.backup.holds({ logId: log.id, segmentId: 1n })).toBe(true);
    await Promise.all([0, ...log.backups].map((id) => cluster[id]!.kill()));
    await expect(begin(cluster[6]!, log.id)).rejects.toEqual(refusal('ERR_RDMC_LOG_INCOMPLETE'));
  });

  it('waits while a backup has no room for another load: nothing is missing', async () => {
    const { cluster, log } = await rig(4, 300, 2);
    await cluster[0]!.kill();
    let refusals = 0;
    for (const { backup } of cluster.slice(1)) {
      const load = backup.load.bind(backup);
      backup.load = async (ref, use) => {
        refusals += 1;
        if (refusals <= 12) throw new TailwindError('ERR_RDMC_BACKUP_FULL', 'as many as it may');
        return load(ref, use);
      };
    }
    const recovery = await begin(cluster[2]!, log.id);
    expect(await replay(recovery)).toEqual(upTo(300));
    await recovery.close();
    expect(refusals).toBeGreaterThan(12);
  });

  it('frees replicas at a backup that missed the end of the recovery, and none of live logs', async () => {
    const { cluster, log } = await rig(5, 300);
    const other = await coordinatedLog(cluster[4]!, 1, { replicas: 3 });
    await appendAll(other, 0, 10);
    const deaf = cluster[log.backups.find((id) => id > 1)!]!;
    const freeLog = deaf.backup.freeLog.bind(deaf.backup);
    deaf.backup.freeLog = async () => {
      throw new Error('it is not here');
    };
    await cluster[0]!.kill();
    const recovery = await begin(cluster[1]!, log.id);
    await recovery.finish([]);
    deaf.backup.freeLog = freeLog;
    expect(deaf.backup.holdsLog(log.id)).toBe(true);
    const hadOther = deaf.backup.holdsLog(other.id);
    // A separate service, without requests: the member's own service does not have a coordinator.
    const mesh = { onRequest: none, onFailure: none, onLeave: none, members: [] };
    const plane = planeOf(deaf.node);
    const parts = { mesh, plane, link: await WorkerLink.inline(plane), logger: undefined, open: new Set() };
    const coordinator = deaf.logs.coordinator(1);
    const service = BackupService.serve(parts as never, deaf.backup as never, {
      coordinator: coordinator as never,
    });
    await service.freeRecovered();
    await service.close();
    await parts.link.close();
    expect(deaf.backup.holdsLog(log.id)).toBe(false);
    expect(deaf.backup.holdsLog(other.id)).toBe(hadOther);
  });

  it('reads from all backups', async () => {
    const { cluster, log } = await rig(4, 700);
    await cluster[0]!.kill();
    const loads = cluster.map(() => 0);
    for (const { id, backup } of cluster.slice(1)) {
      const load = backup.load.bind(backup);
      backup.load = (ref, use) => {
        loads[id]! += 1;
        return load(ref, use);
      };
    }
    const recovery = await begin(cluster[2]!, log.id);
    expect(await replay(recovery)).toEqual(upTo(700));
    await recovery.close();
    for (const { id } of cluster.slice(1)) expect(loads[id]).toBeGreaterThan(0);
  });
});

function none(): Subscription {
  return subscription(() => {});
}

async function flipBit({ directory }: ClusterMember, segmentId: bigint, logId: bigint): Promise<void> {
  const path = `${directory}/${segmentKey({ logId, segmentId })}.replica`;
  const bytes = await readFile(path);
  bytes[4096 + SEGMENT / 4]! ^= 1;
  await writeFile(path, bytes);
}
