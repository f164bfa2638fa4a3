/** Backups that are to go, while the log is written. */
import { until } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { createLog, object, startCluster } from './support/cluster.js';

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
