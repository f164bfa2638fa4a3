/** Servers whose logs need another number of backups than those of the cluster. */
import { refusal } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { NOT_TOLD } from '../src/cluster/messages.js';
import { replicaCounts } from '../src/cluster/replica-counts.js';
import { TestCluster } from './support/cluster.js';

const REFUSED = refusal('ERR_RDMC_KV_REPLICAS');

function countsOf(servers: number) {
  const peers = new Map(
    Array.from({ length: servers }, (_, at) => [at + 1, { state: 'connected' as const, incarnation: 1 }]),
  );
  const counts = replicaCounts({ peers });
  return (server: number, replicas: number, isRunning = false): void => {
    const enlistment = { segmentBytes: 0, replicas, isRunning };
    counts.check(server, enlistment);
    counts.admit(server, enlistment);
  };
}

it('the coordinator refuses other numbers, smaller and larger, and says what to do', () => {
  const admit = countsOf(3);
  admit(1, 3);
  admit(2, 3);
  expect(() => admit(3, 0)).toThrow(REFUSED);
  expect(() => admit(3, 4)).toThrow(REFUSED);
  expect(() => admit(3, 1)).toThrow(
    'server 3 has --replicas 1, and the cluster has 3: start it with --replicas 3.',
  );
  admit(3, 3);
});

it('servers without backups are compared, and servers of the release before are not', () => {
  const admit = countsOf(4);
  admit(1, NOT_TOLD);
  admit(2, 0);
  expect(() => admit(3, 1)).toThrow(REFUSED);
  admit(3, NOT_TOLD);
  admit(4, 0);
});

it('a server that runs is not refused; the largest number is that of the cluster then', () => {
  const admit = countsOf(3);
  admit(1, 1, true);
  admit(2, 2, true);
  expect(() => admit(3, 1)).toThrow(REFUSED);
  admit(3, 2);
});

it('a cluster refuses a server with fewer backups, and admits it with the same number', async () => {
  const cluster = await TestCluster.start(4, { replicas: 2 });
  try {
    const recovered = cluster.recovered(1);
    await cluster.servers.pop()!.close();
    await recovered;
    await expect(cluster.startServer(4, { replicas: 1 })).rejects.toMatchObject({
      code: 'ERR_RDMC_KV_REPLICAS',
      message: expect.stringContaining('start it with --replicas 2'),
    });
    cluster.servers.push(await cluster.startServer(4));
  } finally {
    await cluster.close();
  }
});
