/** Backups that are to go, while the log is written. */
import { Deferred } from '@rdmc/common';
import { type Append, EntryType, type Log, TailwindError } from '@rdmc/tailwind';
import { segmentEntries } from '@rdmc/tailwind/format';
import { until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  breakPairs,
  type ClusterMember,
  createLog,
  object,
  startCluster,
  type TestAuthority,
} from './support/cluster.js';
import { type CrashPoint, CrashPoints } from './support/crash-points.js';

it('a backup that is to go has no replica in the end, and gets no other one; each segment has its replicas elsewhere', async () => {
  const members = await startCluster(5);
  const going = new Set<number>();
  const { log } = await createLog(members[0]!, {
    replicas: 2,
    backups: () => [1, 2, 3, 4].filter((id) => !going.has(id)),
  });
  const append = async (from: number, to: number): Promise<void> => {
    for (let number = from; number < to; number += 1) await log.append(object(number, 1000)).acknowledged;
  };
  // Several segments of 16 KiB, and one that is open.
  await append(0, 60);
  const first = log.backups[0]!;
  const { backup } = members[first]!;
  expect(backup.logIds).toEqual([7n]);
  going.add(first);
  const retired = log.retire(first);
  await append(60, 100);
  await retired;
  await until(() => backup.logIds.length === 0);
  expect(log.backups).not.toContain(first);
  await append(100, 140);
  expect(backup.logIds).toEqual([]);
  for (const segmentId of log.segmentIds) {
    const holding = members.slice(1).filter((member) => member.backup.holds({ logId: 7n, segmentId }));
    expect(holding.length, `segment ${segmentId}`).toBeGreaterThanOrEqual(2);
  }
});

it('a backup that is needed again meanwhile keeps the rest, and has everything moved when it is to go again', async () => {
  const members = await startCluster(4);
  const { backup } = members[1]!;
  let backups = [1];
  const { log } = await createLog(members[0]!, { replicas: 1, backups: () => backups });
  const append = async (from: number, to: number): Promise<void> => {
    for (let number = from; number < to; number += 1) await log.append(object(number, 1000)).acknowledged;
  };
  // Several segments, all of them at the first backup; the next ones are not opened elsewhere.
  await append(0, 54);
  const last = log.append(object(54, 1000));
  await last.acknowledged;
  const held = (): bigint[] => log.segmentIds.filter((segmentId) => backup.holds({ logId: 7n, segmentId }));
  // With the one after the last, which is opened in advance: it may not have memory yet, and no number.
  const prepared = last.locations![0]!.segmentId + 1n;
  await until(() => held().at(-1) === prepared);
  const before = held();
  const opened = new Deferred<void>();
  for (const { backup: other } of members.slice(2)) {
    const open = other.openReplica.bind(other);
    other.openReplica = async (request) => {
      const grant = await open(request);
      // It has one segment then.
      backups = [1];
      opened.resolve();
      return grant;
    };
  }
  const again = new Deferred<never>();
  backup.openReplica = async () => {
    const error = new Error('it is asked for a buffer for what it has');
    again.reject(error);
    throw error;
  };
  backups = [2, 3];
  await Promise.race([log.retire(1), again.promise]);
  await opened.promise;
  await until(() => held().length < before.length);
  expect(held()).toEqual(before.slice(1));
  for (const { backup: other } of members.slice(1)) Reflect.deleteProperty(other, 'openReplica');
  backups = [2, 3];
  await log.retire(1);
  await append(55, 100);
  await until(() => backup.logIds.length === 0);
});

/** A log of member 0 with open replicas at two of the others, one of which is to go. */
async function startMove(count: number) {
  const members = await startCluster(count);
  const going = new Set<number>();
  const backups = (): number[] => members.slice(1).flatMap(({ id }) => (going.has(id) ? [] : [id]));
  const { log, authority } = await createLog(members[0]!, { replicas: 2, backups, segmentBytes: 16 * 1024 });
  const retire = (member: number): Promise<void> => {
    going.add(member);
    return log.retire(member);
  };
  return { members, log, authority, retire };
}

/** Objects that were acknowledged, by segment. */
class Acknowledged {
  readonly keys = new Map<bigint, Set<string>>();
  #next = 0;
  #last: Append | undefined;

  constructor(private readonly log: Log) {}

  async append(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const number = this.#next;
      this.#next += 1;
      const append = this.log.append(object(number, 20));
      this.#last = append;
      await append.acknowledged;
      const { segmentId } = append.locations![0]!;
      this.keys.set(segmentId, (this.keys.get(segmentId) ?? new Set()).add(String(number)));
    }
  }

  /** The segment of the last append, also if that is not acknowledged; undefined while it waits for a segment. */
  get head(): bigint | undefined {
    return this.#last?.locations?.[0]?.segmentId;
  }
}

/**
 * The segments of the open replicas that recovery may use.
 * @throws for a replica that lacks something acknowledged
 */
function usable(
  point: CrashPoint,
  keys: ReadonlyMap<bigint, ReadonlySet<string>>,
  raised: TestAuthority['raised'],
): bigint[] {
  const segments: bigint[] = [];
  const last = raised.at(-1) ?? { segmentId: 0n, epoch: 0 };
  for (const [member, found] of point) {
    for (const { entry, complete, committed } of found) {
      const { segmentId, epoch, state, digest } = entry;
      // Its backup was asked in advance, and replaced before anything was written: recovery finds nothing in it, and no end.
      if (complete.length === 0 && digest === null) continue;
      const isStale = segmentId < last.segmentId || (segmentId === last.segmentId && epoch < last.epoch);
      if (!committed || state !== 'open' || isStale) continue;
      const present = new Set<string>();
      for (const { type, payload } of segmentEntries(complete, complete.length))
        if (type === EntryType.OBJECT)
          present.add(Buffer.from(payload.subarray(12, 12 + payload[8]!)).toString());
      const lacking = [...(keys.get(segmentId) ?? [])].filter((key) => !present.has(key));
      if (lacking.length > 0) throw new Error(`backup ${member} lacks ${lacking} of segment ${segmentId}`);
      segments.push(segmentId);
    }
  }
  return segments;
}

/** What happens while the first backup's replica moves. */
const EVENTS: Record<string, (members: readonly ClusterMember[], log: Log) => void> = {
  nothing: () => {},
  'the commit of the new replica fails': (members) => {
    let failures = 1;
    for (const { backup } of members) {
      const commit = backup.commitReplica.bind(backup);
      backup.commitReplica = async (...request) => {
        if (failures > 0) {
          failures -= 1;
          throw new Error('a fault of this test');
        }
        return commit(...request);
      };
    }
  },
  'the answer to the commit is lost': (members) => {
    let failures = 1;
    for (const { backup } of members) {
      const commit = backup.commitReplica.bind(backup);
      backup.commitReplica = async (...request) => {
        await commit(...request);
        if (failures > 0) {
          failures -= 1;
          throw new Error('a fault of this test');
        }
      };
    }
  },
  'the connections with all replicas break': (members, log) => {
    let isBroken = false;
    for (const { backup } of members) {
      const commit = backup.commitReplica.bind(backup);
      backup.commitReplica = async (...request) => {
        if (!isBroken) {
          isBroken = true;
          await breakPairs(members[0]!, log.backups);
        }
        return commit(...request);
      };
    }
  },
};

describe('while an open replica moves', () => {
  it('appends are acknowledged, until another backup has everything, and afterwards', async () => {
    const { members, log, authority, retire } = await startMove(4);
    const acknowledged = new Acknowledged(log);
    await acknowledged.append(20);
    const [first] = log.backups;
    const [opening, committing, raising] = [0, 1, 2].map(() => new Deferred<void>());
    const seen: string[] = [];
    for (const { backup } of members) {
      const [open, commit] = [backup.openReplica.bind(backup), backup.commitReplica.bind(backup)];
      backup.openReplica = async (request) => {
        if (!request.committed && request.segmentId === 1n) {
          seen.push('open');
          await opening!.promise;
        }
        return open(request);
      };
      backup.commitReplica = async (...request) => {
        seen.push('commit');
        await committing!.promise;
        return commit(...request);
      };
    }
    authority.onRaise = async () => {
      seen.push('raise');
      await raising!.promise;
    };
    let isRetired = false;
    const retired = retire(first!).then(() => {
      isRetired = true;
    });
    for (const [event, step] of [
      ['open', opening],
      ['commit', committing],
      ['raise', raising],
    ] as const) {
      await until(() => seen[0] === event || isRetired);
      expect(seen[0]).toBe(event);
      await acknowledged.append(5);
      seen.length = 0;
      step!.resolve();
    }
    await retired;
    await acknowledged.append(5);
    expect(log.backups).not.toContain(first);
    expect(log.backups).toHaveLength(2);
    await until(() => members[first!]!.backup.logIds.length === 0);
  });

  it('the segment is closed and the log goes on without the coordinator, which need not know of the move then', async () => {
    const members = await startCluster(4);
    let backups = [1];
    const { log, authority } = await createLog(members[0]!, { replicas: 1, backups: () => backups });
    const first = members[1]!.backup;
    // The replicas of the next segments are elsewhere.
    const opening = new Deferred<void>();
    const open = first.openReplica.bind(first);
    first.openReplica = async (request) => {
      if (request.segmentId === 1n) return open(request);
      await opening.promise;
      throw new TailwindError('ERR_RDMC_BACKUP_FULL', 'a fault of this test');
    };
    backups = [2, 3];
    opening.resolve();
    const acknowledged = new Acknowledged(log);
    await acknowledged.append(20);
    let raises = 0;
    let raisesForClose = 0;
    const waits = new Deferred<never>();
    authority.onRaise = async () => {
      raises += 1;
      // Everything in segment 1 is acknowledged when an append gets a place in the next one: then it is closed at once.
      if ((acknowledged.head ?? 1n) > 1n) raisesForClose += 1;
      // The first request may have begun before that.
      if (raisesForClose > 1)
        waits.reject(new Error('segment 1 is not closed: it waits for the coordinator'));
      throw new Error('the coordinator is away');
    };
    const retired = log.retire(1);
    await until(() => raises > 0);
    const goesOn = async (): Promise<void> => {
      while (acknowledged.keys.size < 3) await acknowledged.append(20);
      await retired;
    };
    await Promise.race([goesOn(), waits.promise]);
    await until(() => first.logIds.length === 0);
  });

  it('appends are refused with the reason where the old replica is lost and the coordinator is away', async () => {
    const { members, log, authority, retire } = await startMove(4);
    const acknowledged = new Acknowledged(log);
    await acknowledged.append(20);
    const [first] = log.backups;
    let raises = 0;
    authority.onRaise = async () => {
      raises += 1;
      throw new Error('the coordinator is away');
    };
    const retired = retire(first!);
    await until(() => raises > 0);
    await breakPairs(members[0]!, [first!]);
    const held: Promise<unknown>[] = [];
    await until(() => {
      try {
        held.push(log.append(object(100 + held.length, 20)).acknowledged);
        return false;
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_RDMC_COORDINATOR_SILENT' });
        return true;
      }
    });
    authority.onRaise = async () => {};
    await retired;
    await Promise.all(held);
    await acknowledged.append(5);
  });

  it.each(Object.entries(EVENTS))(
    'each replica that recovery may use has everything acknowledged, whenever the primary dies: %s',
    async (_, begin) => {
      const { members, log, authority, retire } = await startMove(6);
      const acknowledged = new Acknowledged(log);
      await acknowledged.append(20);
      let counting: bigint[] = [];
      const points = new CrashPoints(members.slice(1), log.id, () => {
        const keys = new Map([...acknowledged.keys].map(([segmentId, all]) => [segmentId, new Set(all)]));
        const raised = [...authority.raised];
        return (point) => {
          counting = usable(point, keys, raised);
        };
      });
      // Recovery must not use the old replica, however late it is freed.
      const freeing = new Deferred<void>();
      authority.onRaise = async () => points.look('a minimum, before it is raised');
      begin(members, log);
      const [first] = log.backups;
      const { backup } = members[first!]!;
      const free = backup.freeReplica.bind(backup);
      backup.freeReplica = async (ref) => {
        await freeing.promise;
        await free(ref);
      };
      let isRetired = false;
      const retired = retire(first!).then(() => {
        isRetired = true;
      });
      // Into the next segments, which are opened and closed meanwhile.
      for (let index = 0; index < 8 || !isRetired; index += 1) {
        await acknowledged.append(20);
        points.look(`append ${index}`);
      }
      await retired;
      await acknowledged.append(20);
      points.look('the end');
      expect(await points.judged()).toBeGreaterThan(10);
      const head = log.segmentIds.findLast((segmentId) => acknowledged.keys.has(segmentId));
      expect(counting.filter((segmentId) => segmentId === head)).toHaveLength(2);
      points.end();
      freeing.resolve();
      expect(log.backups).not.toContain(first);
      await until(() => backup.logIds.length === 0);
    },
  );
});
