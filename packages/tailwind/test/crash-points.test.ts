/** Tests that crash points are states that a crash can leave, and no others. */
import { Deferred } from '@rdmc/common';
import { rejection } from '@rdmc/testing';
import { expect, it } from 'vitest';
import type { ReplicaStore } from '../src/storage/replica-store.js';
import { opening, startBackup } from './support/backups.js';
import { CrashPoints } from './support/crash-points.js';
import { IDENTITY } from './support/segments.js';

const { logId } = IDENTITY;

it('does not inspect replicas that a recovery has freed when an earlier effect completes', async () => {
  const { backup } = await startBackup();
  const { store } = backup as unknown as { readonly store: ReplicaStore };
  const disk = new Deferred<void>();
  store.remove = () => disk.promise;
  await backup.openReplica(opening({ segmentId: 1n }));
  await backup.openReplica(opening({ segmentId: 2n }));
  const found: number[] = [];
  const points = new CrashPoints([{ id: 1, backup }], logId, () => (point) => {
    found.push(point.get(1)!.length);
  });
  points.look('the beginning');
  const freed = backup.freeReplica({ logId, segmentId: 1n });
  points.end();
  const forgotten = backup.freeLog(logId);
  disk.resolve();
  await Promise.all([freed, forgotten]);
  await points.judged();
  expect(found).toEqual([2]);
});

it('reports the event and the replicas of every backup when a judgement fails', async () => {
  const { backup } = await startBackup();
  const points = new CrashPoints([{ id: 1, backup }], logId, () => () => {
    throw new Error('it is wrong');
  });
  await backup.openReplica(opening({ segmentId: 3n, committed: false }));
  points.end();
  const { message } = await rejection(points.judged());
  expect(message).toBe(
    'After openReplica of segment 3 at backup 1: it is wrong\n' +
      'backup 1:\n' +
      '  segment 3: open head, not committed, epoch 1, 0 bytes complete (ok, zero-type), no digest',
  );
});
