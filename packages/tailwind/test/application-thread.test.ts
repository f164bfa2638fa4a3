/** A log whose writes the application's thread posts itself. */
import { setImmediate as turn } from 'node:timers/promises';
import { decodeObject, EntryType, type Log } from '@rdmc/tailwind';
import { expect, it } from 'vitest';
import {
  type ClusterMember,
  coordinatedLog,
  createLog,
  object,
  startCluster,
  startCoordinator,
} from './support/cluster.js';

const MIB = 1024 * 1024;

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}

async function append(log: Log, from: number, to: number): Promise<void> {
  await Promise.all(upTo(to - from).map((number) => log.append(object(from + number)).acknowledged));
}

async function recovered({ logs }: ClusterMember, logId: bigint): Promise<number[]> {
  await using recovery = await logs.recover({ coordinator: logs.coordinator(1), logId });
  const versions: number[] = [];
  for await (const segment of recovery.segments()) {
    for (const { type, payload } of segment.entries()) {
      if (type === EntryType.OBJECT) versions.push(decodeObject(payload).version);
    }
  }
  return versions;
}

it.each(['shm', 'tcp'] as const)(
  'over %s nothing that was acknowledged is lost with a backup and then the primary',
  async (transport) => {
    const members = await startCluster(6, { transport });
    await startCoordinator(members[1]!);
    const log = await coordinatedLog(members[0]!, 1, { replicas: 3, thread: 'application' });
    await append(log, 0, 300);
    const victim = log.backups.find((id) => id !== 1)!;
    await members[victim]!.kill();
    await append(log, 300, 600);
    expect(log.backups).not.toContain(victim);
    await members[0]!.kill();
    const last = async () => log.append(object(600)).acknowledged;
    await expect(last()).rejects.toMatchObject({
      code: expect.stringMatching(/^ERR_RDMC_/),
    });
    const reader = members.find(({ id }) => id > 1 && id !== victim)!;
    expect(await recovered(reader, log.id)).toEqual(upTo(600));
  },
);

it('over shared memory an append is acknowledged without another turn of the event loop', async () => {
  const members = await startCluster(4, { transport: 'shm' });
  const { log } = await createLog(members[0]!, { replicas: 3, thread: 'application' });
  // If other work of the log took long in this turn, the log waits for the next one.
  let isSameTurn = false;
  for (let attempt = 0; attempt < 100 && !isSameTurn; attempt += 1) {
    await turn();
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    await log.append(object(attempt)).acknowledged;
    isSameTurn = !turned;
  }
  expect(isSameTurn).toBe(true);
});

it('appends that follow each other’s acknowledgements do not block the event loop', async () => {
  const segmentBytes = 4 * MIB;
  const members = await startCluster(4, { transport: 'shm', segmentBytes });
  const { log } = await createLog(members[0]!, { replicas: 3, thread: 'application', segmentBytes });
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  // They take milliseconds, and fit into one segment, so they do not wait for another one.
  for (let i = 0; i < 20_000 && !turned; i += 1) await log.append(object(i)).acknowledged;
  expect(turned).toBe(true);
});

it('is refused for a mode other than one-sided writes', async () => {
  const members = await startCluster(2);
  const options = { replicas: 1, mode: 'rpc', thread: 'application' } as const;
  await expect(createLog(members[0]!, options)).rejects.toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
});
