import { refusal, rejection, watchedTrace } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { coordinatedLog, object, startCluster, startCoordinator } from './support/cluster.js';

it('traces logs, appends and recoveries, with their outcomes', async () => {
  const [creations, appends, recoveries] = [
    watchedTrace('@rdmc/tailwind:create'),
    watchedTrace('@rdmc/tailwind:append'),
    watchedTrace('@rdmc/tailwind:recover'),
  ];
  const cluster = await startCluster(4);
  await startCoordinator(cluster[1]!);
  const log = await coordinatedLog(cluster[0]!, 1, { replicas: 2 });
  const logId = log.id;
  expect(creations).toEqual([{ logId, node: 0, result: log }]);
  const location = await log.append(object(1)).acknowledged;
  expect(appends).toMatchObject([{ logId, result: location }]);
  expect(appends[0]!.byteLength).toBeGreaterThan(0);
  const { logs } = cluster[2]!;
  const coordinator = logs.coordinator(1);
  const error = await rejection(logs.recover({ coordinator, logId: 99n }));
  await cluster[0]!.kill();
  await using recovery = await logs.recover({ coordinator, logId });
  expect(recoveries).toMatchObject([
    { logId: 99n, node: 2, error },
    { logId, node: 2, result: recovery },
  ]);
});

it('does not hide a failed append from the process that waits for it', async () => {
  watchedTrace('@rdmc/tailwind:append');
  const cluster = await startCluster(4);
  await startCoordinator(cluster[1]!);
  const log = await coordinatedLog(cluster[0]!, 1, { replicas: 2 });
  const append = log.append(object(1));
  const failure = rejection(append.acknowledged);
  await log.close();
  expect(await failure).toEqual(refusal('ERR_RDMC_LOG_CLOSED'));
});
