import { decodeObject, EntryType } from '@rdmc/tailwind';
import { expect, it } from 'vitest';
import { type ClusterMember, startCoordinator } from './support/cluster.js';
import { type MemberProcess, startProcesses } from './support/processes.js';

async function recover({ logs }: ClusterMember, logId: bigint): Promise<number[]> {
  const recovery = await logs.recover({ coordinator: logs.coordinator(1), logId });
  const versions: number[] = [];
  for await (const segment of recovery.segments()) {
    for (const { type, payload } of segment.entries()) {
      if (type === EntryType.OBJECT) versions.push(decodeObject(payload).version);
    }
  }
  await recovery.close();
  return versions;
}

/** A complete prefix, in order, with at least the acknowledged appends. Each append has eight objects: all or none. */
function expectKept(versions: readonly number[], acknowledged: number): void {
  expect(versions).toEqual(versions.map((_, index) => index));
  expect(versions.length).toBeGreaterThanOrEqual(acknowledged);
  expect(versions.length % 8).toBe(0);
}

async function writing(primary: MemberProcess, replicas: number, atLeast: number): Promise<bigint> {
  primary.append(replicas);
  await primary.until(({ acknowledged, ended }) => acknowledged >= atLeast || ended !== undefined);
  expect(primary.ended).toBeUndefined();
  return primary.logId!;
}

it('a primary killed with -9 under load loses nothing that it acknowledged', async () => {
  const { own, processes } = await startProcesses(4);
  await startCoordinator(own);
  const primary = processes.get(0)!;
  const logId = await writing(primary, 3, 400);
  primary.signal('SIGKILL');
  await primary.until(({ gone }) => gone);
  expectKept(await recover(own, logId), primary.acknowledged);
});

it('a backup killed with -9 under load is replaced, and then the primary may die', async () => {
  const { own, processes } = await startProcesses(6);
  await startCoordinator(own);
  const primary = processes.get(0)!;
  const logId = await writing(primary, 2, 100);
  const victim = primary.backups.find((id) => id !== 1)!;
  processes.get(victim)!.signal('SIGKILL');
  const before = primary.acknowledged;
  await primary.until(
    ({ acknowledged, backups, ended }) =>
      ended !== undefined || (acknowledged > before + 400 && !backups.includes(victim)),
  );
  expect(primary.ended).toBeUndefined();
  primary.signal('SIGKILL');
  await primary.until(({ gone }) => gone);
  expectKept(await recover(own, logId), primary.acknowledged);
});

it('a primary and r − 1 backups killed with -9 at once lose nothing', async () => {
  const { own, processes } = await startProcesses(5);
  await startCoordinator(own);
  const primary = processes.get(0)!;
  const logId = await writing(primary, 3, 200);
  const victims = [...processes.values()].filter(({ id }) => id !== 0).slice(0, 2);
  for (const member of [primary, ...victims]) member.signal('SIGKILL');
  await Promise.all([primary, ...victims].map((member) => member.until(({ gone }) => gone)));
  expectKept(await recover(own, logId), primary.acknowledged);
});

it('a primary that was stopped during the recovery of its log acknowledges and serves nothing when it continues', async () => {
  const { own, processes } = await startProcesses(4);
  await startCoordinator(own);
  const primary = processes.get(0)!;
  const logId = await writing(primary, 3, 200);
  primary.signal('SIGSTOP');
  const versions = await recover(own, logId);
  const known = primary.acknowledged;
  primary.signal('SIGCONT');
  await primary.until(({ ended }) => ended !== undefined);
  expect(primary.ended).toBe('ERR_RDMC_LOG_FENCED');
  expect(primary.leaseValid).toBe(false);
  expectKept(versions, known);
  expectKept(versions, primary.acknowledged);
});
