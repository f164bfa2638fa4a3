import { type Log, TailwindError } from '@rdmc/tailwind';
import { refusal, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { BackupConnection } from '../src/rpc/backup-client.js';
import { WorkerLink } from '../src/worker-link.js';
import {
  breakPairs,
  type ClusterMember,
  coordinatedLog,
  createLog,
  keysIn,
  object,
  planeOf,
  SEGMENT,
  startCluster,
  startCoordinator,
} from './support/cluster.js';
import { loaded } from './support/loaded.js';

const FIRST = { logId: 7n, segmentId: 1n };

async function append(log: Log, from: number, to: number): Promise<void> {
  const numbers = Array.from({ length: to - from }, (_, index) => from + index);
  await Promise.all(numbers.map((number) => log.append(object(number)).acknowledged));
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}

async function objectsAt({ backup }: ClusterMember, segmentId = 1n): Promise<number[]> {
  const { bytes } = await loaded(backup, { ...FIRST, segmentId });
  return keysIn(bytes, segmentId);
}

describe('when all connections break at once', () => {
  it('the minimum is raised once, when all replicas are replaced', async () => {
    const members = await startCluster(5);
    const { log, authority } = await createLog(members[0]!, { replicas: 3 });
    await append(log, 0, 20);
    const allAreLost = until(() => log.backups.length === 0);
    for (const { backup } of members) {
      const open = backup.openReplica.bind(backup);
      backup.openReplica = async (request) => {
        if (request.segmentId === 1n && request.epoch > 1) await allAreLost;
        return open(request);
      };
    }
    await breakPairs(members[0]!, log.backups);
    await append(log, 20, 40);
    expect(authority.raised.filter(({ segmentId }) => segmentId === 1n)).toEqual([
      { segmentId: 1n, epoch: 4 },
    ]);
    expect(log.backups).toHaveLength(3);
  });

  it('backups keep a replica until the replacement beside it is committed', async () => {
    const members = await startCluster(3);
    const { log } = await createLog(members[0]!, { replicas: 2 });
    await append(log, 0, 20);
    const kept: number[][] = [];
    for (const member of members.slice(1)) {
      const commit = member.backup.commitReplica.bind(member.backup);
      member.backup.commitReplica = async (...request) => {
        if (request[0].segmentId === 1n) kept.push(await objectsAt(member));
        await commit(...request);
      };
    }
    await breakPairs(members[0]!, [1, 2]);
    await append(log, 20, 40);
    expect(kept.map((keys) => keys.length >= 20)).toEqual([true, true]);
    await log.close();
    for (const member of members.slice(1)) expect(await objectsAt(member)).toEqual(upTo(40));
  });

  it('closed replicas are copied beside the old ones, and recovery finds everything', async () => {
    const members = await startCluster(4);
    await startCoordinator(members[1]!);
    const log = await coordinatedLog(members[0]!, 1, { replicas: 2, backups: [2, 3] });
    const first = { logId: log.id, segmentId: 1n };
    const kept: boolean[] = [];
    for (const { backup } of members.slice(2)) {
      const [flushed, restore] = [backup.flushed.bind(backup), backup.restoreReplica.bind(backup)];
      let isForgotten = false;
      backup.checkClosed = async () => {
        throw new TailwindError('ERR_RDMC_REPLICA_UNKNOWN', 'as if it were not here');
      };
      backup.flushed = async (ref) => {
        if (ref.segmentId !== 1n || isForgotten) return flushed(ref);
        isForgotten = true;
        throw new TailwindError('ERR_RDMC_REPLICA_UNKNOWN', 'as if it were not here');
      };
      backup.restoreReplica = async (...request) => {
        kept.push(backup.holds(first));
        await restore(...request);
        kept.push(backup.holds(first));
      };
    }
    await append(log, 0, 400);
    await until(() => kept.length === 4);
    expect(kept).toEqual([true, true, true, true]);
    await members[0]!.kill();
    const { logs } = members[1]!;
    const recovery = await logs.recover({ coordinator: logs.coordinator(1), logId: log.id });
    const versions: number[] = [];
    for await (const segment of recovery.segments()) {
      for (const { type, payload } of segment.entries())
        if (type === 2) versions.push(payload[0]! + 256 * payload[1]!);
    }
    expect(versions).toEqual(upTo(400));
    await recovery.close();
  });
});

describe('ownership of a log', () => {
  it('an id that was used is refused, to its member and to another one, and its log continues', async () => {
    const members = await startCluster(4);
    const { log } = await createLog(members[0]!, { replicas: 1, backups: [2] });
    await append(log, 0, 10);
    // Backups without replicas of that log know the claim as well.
    const same = createLog(members[0]!, { replicas: 1, backups: [1, 2] });
    await expect(same).rejects.toEqual(refusal('ERR_RDMC_LOG_EXISTS'));
    await expect(createLog(members[3]!, { replicas: 2 })).rejects.toEqual(refusal('ERR_RDMC_LOG_EXISTS'));
    await append(log, 10, 20);
    expect(await objectsAt(members[2]!)).toEqual(upTo(20));
  });

  it('an id whose replicas are in files is refused', async () => {
    const members = await startCluster(2);
    const { log } = await createLog(members[0]!, { replicas: 1 });
    await append(log, 0, 10);
    await members[1]!.backup.dump();
    await Promise.all(members.map((member) => member.kill()));
    const again = await startCluster(2, { directories: members.map(({ directory }) => directory) });
    await expect(createLog(again[0]!, { replicas: 1 })).rejects.toEqual(refusal('ERR_RDMC_LOG_EXISTS'));
  });

  it('other members’ requests are refused', async () => {
    const members = await startCluster(3);
    const { log } = await createLog(members[0]!, { replicas: 1, backups: [1] });
    await append(log, 0, 10);
    const ask = (body: object) => members[2]!.mesh.request(1, 'tailwind.backup', { logId: '7', ...body });
    const foreign = refusal('ERR_RDMC_NOT_OWNER');
    const segment = { segmentId: '1' };
    await expect(ask({ op: 'free', ...segment })).rejects.toEqual(foreign);
    await expect(ask({ op: 'epoch', ...segment, epoch: 9 })).rejects.toEqual(foreign);
    await expect(ask({ op: 'close', ...segment, byteLength: 0, checksum: 0 })).rejects.toEqual(foreign);
    await expect(ask({ op: 'load', ...segment })).rejects.toEqual(foreign);
    await expect(ask({ op: 'free-log' })).rejects.toEqual(foreign);
    await append(log, 10, 20);
    expect(await objectsAt(members[1]!)).toEqual(upTo(20));
  });
});

describe('freeing', () => {
  it('a log that could not be created frees its replicas, and another log can use its id', async () => {
    const members = await startCluster(4);
    const { backup } = members[3]!;
    const open = backup.openReplica.bind(backup);
    const othersAreOpen = until(() => [1, 2].every((id) => members[id]!.backup.holds(FIRST)));
    backup.openReplica = async () => {
      await othersAreOpen;
      throw new TailwindError('ERR_RDMC_BACKUP_FULL', 'no buffer');
    };
    await expect(createLog(members[0]!)).rejects.toEqual(refusal('ERR_RDMC_TOO_FEW_BACKUPS'));
    for (const id of [1, 2, 3]) expect(members[id]!.backup.buffers.used).toBe(0);
    backup.openReplica = open;
    const { log } = await createLog(members[3]!);
    await append(log, 0, 10);
  });

  it('a buffer is freed when the answer that granted it was lost', async () => {
    const members = await startCluster(4);
    const { backup } = members[2]!;
    const open = backup.openReplica.bind(backup);
    let refused = 0;
    backup.openReplica = async (request) => {
      await open(request);
      refused += 1;
      throw new Error('the answer got lost');
    };
    // Always the second of the remaining backups, so that this one is among the first that are asked.
    const { log } = await createLog(members[0]!, { replicas: 2, random: () => 0.5 });
    await append(log, 0, 300);
    expect(log.backups).not.toContain(2);
    expect(refused).toBeGreaterThan(0);
    await until(
      () => !log.segmentIds.slice(0, -2).some((segmentId) => backup.holds({ ...FIRST, segmentId })),
    );
  });

  it('a backup frees connections that were ended, and limits their number', async () => {
    const [first] = await startCluster(2);
    const { mesh, node } = first!;
    const link = await WorkerLink.inline(planeOf(node));
    const options = {
      mesh,
      link,
      logId: 7n,
      session: '0'.repeat(32),
      retryTimeoutMs: 60_000,
    };
    const connect = () => BackupConnection.connect(1, { ...options, mode: 'one-sided' });
    for (let times = 0; times < 70; times += 1) await (await connect()).drop();
    const all = await Promise.allSettled(upTo(70).map(connect));
    const refused = all.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(refused).toHaveLength(6);
    expect(refused[0]!.reason).toEqual(refusal('ERR_RDMC_BACKUP_FULL'));
    await Promise.all(all.map((result) => (result.status === 'fulfilled' ? result.value.drop() : undefined)));
    await link.close();
  });

  it('a log does not end when memory for the next segment is missing', async () => {
    const members = await startCluster(2);
    const { protectionDomain } = members[0]!.node;
    const allocate = protectionDomain.allocate.bind(protectionDomain);
    const { log } = await createLog(members[0]!, { replicas: 1 });
    let refusals = 0;
    protectionDomain.allocate = async (bytes, options) => {
      if (bytes !== SEGMENT || refusals >= 5) return allocate(bytes, options);
      refusals += 1;
      throw Object.assign(new Error('no memory'), { code: 'ERR_RDMC_OUT_OF_MEMORY' });
    };
    for (let number = 0; log.segmentIds.length < 4; number += 1) {
      try {
        await log.append(object(number)).acknowledged;
      } catch (error) {
        expect(error).toEqual(refusal('ERR_RDMC_OUT_OF_MEMORY'));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    expect(refusals).toBe(5);
  });

  it('appends are refused when no further segment is possible', async () => {
    const members = await startCluster(2);
    const { log } = await createLog(members[0]!, { replicas: 1, maxSegments: 2 });
    // The second segment is not open yet: most of these wait for it, and not all fit.
    const accepted = upTo(30).map(() => log.append(object(1, 2000)).acknowledged);
    const outcomes = await Promise.allSettled(accepted);
    const last = outcomes.at(-1) as PromiseRejectedResult;
    expect(last.reason).toEqual(refusal('ERR_RDMC_LOG_FULL'));
  });
});
