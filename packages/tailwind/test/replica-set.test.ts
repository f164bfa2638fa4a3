import { Deferred } from '@rdmc/common';
import { TailwindError } from '@rdmc/tailwind';
import { refusal, until } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Connections } from '../src/log/connections.js';
import type { LogEnvironment, Need } from '../src/log/log-environment.js';
import { checkLogOptions } from '../src/log/log-options.js';
import { ReplicaSet } from '../src/log/replica-set.js';
import { WorkerLink } from '../src/worker-link.js';
import { type ClusterMember, planeOf, SEGMENT, startCluster, TestAuthority } from './support/cluster.js';

const IDENTITY = { logId: 7n, segmentId: 1n, incarnation: 1 };
const EMPTY = { byteLength: 0, checksum: 0 };

/** The replicas of a segment without its log: calls to the log are recorded. */
async function rig(members: readonly ClusterMember[], backups: readonly number[], replicas: number) {
  const { mesh, node } = members[0]!;
  const plane = planeOf(node);
  const authority = new TestAuthority();
  const how = { replicas, segmentBytes: SEGMENT, random: () => 0, backups: [...backups] };
  const options = checkLogOptions(
    { mesh, plane, logger: undefined },
    { authority, logId: 7n, incarnation: 1, ...how },
  );
  const ended = new AbortController();
  // In this thread: the node's worker belongs to the built package.
  const link = await WorkerLink.inline(plane);
  link.onEnd((error) => ended.abort(error));
  const freed: { member: number; isWanted: () => boolean }[] = [];
  const refusals = new Map<Need, Error | undefined>();
  const connections = new Connections(
    { ...options, link, session: '0'.repeat(32), isBegun: () => true },
    () => backups,
    options.random,
  );
  const environment = {
    options,
    link,
    connections,
    staleReplicas: {
      free: (member: number, _: unknown, isWanted: () => boolean) => freed.push({ member, isWanted }),
    },
    ended: ended.signal,
    fail: (error: Error) => ended.abort(error),
    refuse: (need: Need, reason: Error | undefined) => refusals.set(need, reason),
  } as unknown as LogEnvironment;
  const region = await plane.protectionDomain.allocate(SEGMENT);
  const memory = { address: region.address, lkey: region.lkey };
  const segment = { identity: IDENTITY, role: 'head', memory, posted: EMPTY } as const;
  const set = new ReplicaSet(environment, segment, () => {});
  onTestFinished(async () => {
    ended.abort(new Error('the test is over'));
    await connections.close();
    await link.close();
    await region.close();
  });
  return { set, ended, freed, refusals, authority, link };
}

describe('a closed replica', () => {
  it('that is being restored at a backup is not freed there, from the request for its buffer on', async () => {
    const members = await startCluster(3);
    const { set, freed } = await rig(members, [1, 2], 1);
    await set.open();
    expect(set.members).toEqual([1]);
    await set.close(EMPTY);
    set.memberLost(1, EMPTY);
    await until(() => freed.length > 0);
    expect(freed.map(({ member, isWanted }) => [member, isWanted()])).toEqual([[1, false]]);
    const seen: [string, boolean][] = [];
    const { backup } = members[1]!;
    const [open, restore] = [backup.openReplica.bind(backup), backup.restoreReplica.bind(backup)];
    backup.openReplica = async (request) => {
      seen.push(['open', freed[0]!.isWanted()]);
      return open(request);
    };
    backup.restoreReplica = async (...request) => {
      await restore(...request);
      seen.push(['restored', freed[0]!.isWanted()]);
    };
    set.memberLost(2, EMPTY);
    await until(() => freed.length > 1);
    expect(set.members).toEqual([1]);
    expect(seen).toEqual([
      ['open', true],
      ['restored', true],
    ]);
  });

  it('that a backup still has when it is back counts again, and is not freed or copied', async () => {
    const members = await startCluster(3);
    const { set, freed, refusals } = await rig(members, [1, 2], 2);
    await set.open();
    await set.close(EMPTY);
    const { backup } = members[1]!;
    const checked = new Deferred<void>();
    const check = backup.checkClosed.bind(backup);
    let isBack = false;
    backup.checkClosed = async (...request) => {
      if (!isBack) throw new TailwindError('ERR_RDMC_BACKUP_CLOSED', 'it is away');
      await check(...request);
      checked.resolve();
    };
    backup.openReplica = async () => {
      throw new TailwindError('ERR_RDMC_BACKUP_FULL', 'no buffer');
    };
    set.memberLost(1, EMPTY);
    await until(() => refusals.get('restore') !== undefined);
    expect(set.members).toEqual([2]);
    isBack = true;
    await checked.promise;
    await set.flushed(EMPTY);
    expect([...set.members].sort()).toEqual([1, 2]);
    expect(refusals.get('restore')).toBeUndefined();
    // Whoever is about to free it asks whether it is wanted.
    for (const { member, isWanted } of freed) expect([member, isWanted()]).toEqual([1, true]);
    expect(backup.holds(IDENTITY)).toBe(true);
  });

  it('is not replaced any more when its segment is freed', async () => {
    const members = await startCluster(2);
    const { set, refusals, freed } = await rig(members, [1], 1);
    await set.open();
    await set.close(EMPTY);
    const { backup } = members[1]!;
    backup.checkClosed = async () => {
      throw new TailwindError('ERR_RDMC_REPLICA_UNKNOWN', 'as if it were not here');
    };
    backup.openReplica = async () => {
      throw new TailwindError('ERR_RDMC_BACKUP_FULL', 'no buffer');
    };
    set.memberLost(1, EMPTY);
    await until(() => refusals.get('restore') !== undefined);
    await set.free();
    expect(freed.map(({ member }) => member)).toEqual([1]);
    expect(refusals.get('restore')).toBeUndefined();
  });
});

describe('the end of a log', () => {
  it('ends a copy that no worker will finish', async () => {
    const members = await startCluster(3);
    const { set, ended, link } = await rig(members, [1, 2], 1);
    await set.open();
    await set.close({ byteLength: 100, checksum: 1 });
    let isCopying = false;
    link.append = () => {
      isCopying = true;
    };
    set.memberLost(1, { byteLength: 100, checksum: 1 });
    await until(() => isCopying);
    ended.abort(new Error('the data plane died'));
    await set.free();
  });

  it('ends the wait for a replacement that will not catch up', async () => {
    const members = await startCluster(3);
    const { set, ended, link } = await rig(members, [1, 2], 1);
    await set.open();
    let isReplacing = false;
    Object.assign(link.commands, {
      replace: () => {
        isReplacing = true;
      },
    });
    set.memberLost(1, undefined);
    await until(() => isReplacing);
    ended.abort(new Error('the data plane died'));
    await set.free();
  });
});

describe('the coordinator’s minimum', () => {
  it('ends the log when its refusal is permanent, and the segment does not become the head', async () => {
    const members = await startCluster(3);
    const { set, ended, authority, refusals } = await rig(members, [1, 2], 1);
    authority.onRaise = async () => {
      throw new TailwindError('ERR_RDMC_NOT_OWNER', 'another one’s log');
    };
    await set.open();
    set.memberLost(1, undefined);
    await until(() => set.members.includes(2));
    await expect(set.becomeHead()).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    expect(ended.signal.reason).toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    expect(refusals.get('raise')).toBeUndefined();
  });

  it('makes appends fail while the coordinator does not answer, and not afterwards', async () => {
    const members = await startCluster(3);
    const { set, authority, refusals } = await rig(members, [1, 2], 1);
    let isSilent = true;
    authority.onRaise = async () => {
      if (isSilent) throw new Error('no answer');
    };
    await set.open();
    await set.becomeHead();
    set.memberLost(1, undefined);
    await until(() => refusals.get('raise') !== undefined);
    expect(refusals.get('raise')).toEqual(refusal('ERR_RDMC_COORDINATOR_SILENT'));
    isSilent = false;
    await until(() => authority.raised.length > 0);
    await until(() => refusals.get('raise') === undefined);
  });

  it('is raised only when every replica that counts knows the epoch', async () => {
    const members = await startCluster(4);
    const { set, authority } = await rig(members, [1, 2, 3], 2);
    const events: string[] = [];
    for (const { id, backup } of members) {
      const setEpoch = backup.setEpoch.bind(backup);
      backup.setEpoch = (ref, epoch) => {
        setEpoch(ref, epoch);
        events.push(`member ${id} knows epoch ${epoch}`);
      };
    }
    authority.onRaise = async () => {
      events.push('the minimum is raised');
    };
    await set.open();
    await set.becomeHead();
    set.memberLost(1, undefined);
    await until(() => authority.raised.length > 0);
    expect(authority.raised).toEqual([{ segmentId: 1n, epoch: 2 }]);
    expect(events.pop()).toBe('the minimum is raised');
    expect(events.sort()).toEqual(['member 2 knows epoch 2', 'member 3 knows epoch 2']);
  });
});
