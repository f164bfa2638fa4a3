/** Backups that are to go, while the log is written. */
import { until } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { createLog, object, startCluster } from './support/cluster.js';

it.each([
  ['no append waits for a replacement where there is room', 20],
  ['appends wait for replacements where there is no room', 10],
])('a backup that is to go gets no further replica, and all are replaced; %s', async (_, maxSegments) => {
  const members = await startCluster(5);
  const going = new Set<number>();
  const lost: unknown[] = [];
  const { log } = await createLog(members[0]!, {
    replicas: 2,
    maxSegments,
    backups: () => [1, 2, 3, 4].filter((id) => !going.has(id)),
    logger: { warn: (facts) => lost.push(facts) },
  });
  const append = async (from: number, to: number): Promise<void> => {
    for (let number = from; number < to; number += 1) await log.append(object(number, 1000)).acknowledged;
  };
  // Several segments of 16 KiB, and one that is open.
  await append(0, maxSegments === 10 ? 120 : 60);
  const first = log.backups[0]!;
  const { backup } = members[first]!;
  expect(backup.logIds).toEqual([7n]);
  going.add(first);
  const retired = log.retire(first);
  if (maxSegments > 10) await append(60, 100);
  await retired;
  await until(() => backup.logIds.length === 0);
  expect(log.backups).not.toContain(first);
  if (maxSegments > 10) await append(100, 140);
  expect(backup.logIds).toEqual([]);
  expect(lost.length > 0).toBe(maxSegments === 10);
  for (const segmentId of log.segmentIds) {
    const holding = members.slice(1).filter((member) => member.backup.holds({ logId: 7n, segmentId }));
    expect(holding.length, `segment ${segmentId}`).toBeGreaterThanOrEqual(2);
  }
});
