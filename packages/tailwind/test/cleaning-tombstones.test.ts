import { expect, it } from 'vitest';
import { coordinatedLog, startCluster, startCoordinator } from './support/cluster.js';
import { KeyStore, recovered } from './support/key-store.js';

it('keeps a tombstone when a segment that was chosen with it turns out to be full and stays', async () => {
  const cluster = await startCluster(4, { buffers: 32 });
  await startCoordinator(cluster[1]!);
  const store = new KeyStore();
  store.log = await coordinatedLog(cluster[0]!, 1, { replicas: 2, maxSegments: 12, ...store.options });
  const { log } = store;
  const value = 'v'.repeat(500);
  // One group, so that almost no space of the first segment is left for others.
  await Promise.all([
    store.set('deleted', ''),
    ...Array.from({ length: 30 }, (_, number) => store.set(`live ${number}`, value)),
  ]);
  // Then the second segment, which gets the tombstone: all other entries there are superseded.
  while (!log.segmentIds.includes(3n)) await store.set('junk', value);
  await store.delete('deleted');
  // An application may be wrong about what is dead. So the first segment looks nearly empty, and the two look as if
  // they fitted into one.
  for (const [key, location] of store.index)
    if (location.segmentId === 1n && key !== 'live 0') log.dead(location);
  while (log.stats().cleanedSegments < 10) await store.set('junk', value);
  expect(log.segmentIds).toContain(1n);
  await cluster[0]!.kill();
  const { logs } = cluster[2]!;
  const recovery = await logs.recover({ coordinator: logs.coordinator(1), logId: log.id });
  const found = await recovered(recovery);
  await recovery.close();
  expect(found.has('deleted')).toBe(false);
  expect(found.get('live 0')).toBe(value);
});
