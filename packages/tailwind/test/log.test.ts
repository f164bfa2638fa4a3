import { readdirSync } from 'node:fs';
import { EntryType, type Log, type ReplicationMode } from '@rdmc/tailwind';
import { decodeDigest, scanSegment, segmentEntries } from '@rdmc/tailwind/format';
import { refusal, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { type ClusterMember, createLog, keysIn, object, SEGMENT, startCluster } from './support/cluster.js';
import { loaded } from './support/loaded.js';

async function appendAll(log: Log, from: number, to: number, valueBytes?: number): Promise<void> {
  const acknowledged = [];
  for (let number = from; number < to; number += 1) {
    acknowledged.push(log.append(object(number, valueBytes)).acknowledged);
    if (number % 50 === 0) await acknowledged.at(-1);
  }
  await Promise.all(acknowledged);
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}

/** The objects found at each backup, in each segment. */
async function replicasOf(members: readonly ClusterMember[], log: Log): Promise<Map<bigint, number[][]>> {
  // A log that ends while it opens the next segment may leave replicas of it at some of the backups.
  await log.close();
  const found = new Map<bigint, number[][]>();
  for (const { id, backup } of members) {
    if (id === 0) continue;
    for (const { record } of await backup.inventory(log.id)) {
      const { bytes, result } = await loaded(backup, record);
      expect(result.status).toBe('ok');
      const list = found.get(record.segmentId) ?? [];
      list.push(keysIn(bytes, record.segmentId));
      found.set(record.segmentId, list);
    }
  }
  return found;
}

function expectComplete(replicas: Map<bigint, number[][]>, r: number, count: number): void {
  const all: number[] = [];
  for (const [, copies] of [...replicas].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (copies.every((copy) => copy.length === 0)) continue;
    expect(copies).toHaveLength(r);
    for (const copy of copies) expect(copy).toEqual(copies[0]);
    all.push(...copies[0]!);
  }
  expect(all).toEqual(Array.from({ length: count }, (_, index) => index));
}

describe.each<ReplicationMode>(['one-sided', 'rpc'])('replication, %s', (mode) => {
  it('puts every append at r backups, over many segments', async () => {
    const members = await startCluster(5);
    const { log, authority } = await createLog(members[0]!, { mode });
    await appendAll(log, 0, 600);
    expect(log.segmentIds.length).toBeGreaterThan(3);
    expectComplete(await replicasOf(members, log), 3, 600);
    expect(authority.raised).toEqual([]);
  });

  it('acknowledges in order, and flushes closed segments', async () => {
    const members = await startCluster(3);
    const { log } = await createLog(members[0]!, { mode, replicas: 2 });
    const order: number[] = [];
    const appends = Array.from({ length: 400 }, (_, number) => log.append(object(number)));
    appends.forEach(({ acknowledged }, number) => {
      void acknowledged.then(() => order.push(number));
    });
    await Promise.all(appends.map(({ acknowledged }) => acknowledged));
    expect(order).toEqual(Array.from({ length: 400 }, (_, number) => number));
    const { segmentId } = await appends[0]!.acknowledged;
    expect(segmentId).toBe(1n);
    await appends[0]!.flushed;
    const file = '0000000000000007-0000000000000001.replica';
    for (const { directory } of members.slice(1)) expect(readdirSync(directory)).toContain(file);
  });

  it('replaces a backup that dies, and loses nothing', async () => {
    const members = await startCluster(5);
    const { log, authority } = await createLog(members[0]!, { mode, replicas: 2 });
    await appendAll(log, 0, 250);
    let count = await appendUntilRoom(log, 250);
    const [victim] = log.backups;
    const killed = members[victim!]!.kill();
    // So few that they stay in this segment: a closed one would be replaced without the coordinator.
    await appendAll(log, count, count + 20);
    count += 20;
    await killed;
    // All of these writes may have completed before its thread ended.
    await until(() => !log.backups.includes(victim!));
    await appendAll(log, count, 550);
    expect(authority.raised.length).toBeGreaterThan(0);
    const survivors = members.filter(({ id }) => id !== victim);
    await untilReplicated(survivors, log, 2);
    expectComplete(await replicasOf(survivors, log), 2, 550);
  });

  it('opens further segments while a backup dies, and loses nothing', async () => {
    const members = await startCluster(5);
    const { log } = await createLog(members[0]!, { mode, replicas: 2 });
    await appendAll(log, 0, 100);
    const [victim] = log.backups;
    const killed = members[victim!]!.kill();
    await appendAll(log, 100, 350);
    await killed;
    const survivors = members.filter(({ id }) => id !== victim);
    await untilReplicated(survivors, log, 2);
    expectComplete(await replicasOf(survivors, log), 2, 350);
  });
});

/** Appends until the head is less than half full, and returns the number of objects. */
async function appendUntilRoom(log: Log, from: number): Promise<number> {
  for (let number = from; ; number += 1) {
    const { offsets } = await log.append(object(number)).acknowledged;
    if (offsets[0]! < SEGMENT / 2) return number + 1;
  }
}

/** Waits until every segment has r committed replicas: closed ones are replaced while appends continue. */
async function untilReplicated(members: readonly ClusterMember[], log: Log, r: number): Promise<void> {
  const counts = (): number[] =>
    log.segmentIds.map(
      (id) => members.filter(({ backup }) => backup.holds({ logId: log.id, segmentId: id })).length,
    );
  await until(() => counts().every((count) => count >= r));
}

/**
 * Appends until an append is refused, and returns the reason. Does not append in every turn of the event loop: appends
 * that are accepted before a slow backup has answered must not fill the log.
 */
async function untilRefused(log: Log, accepted: Promise<unknown>[]): Promise<unknown> {
  for (;;) {
    try {
      accepted.push(log.append(object(1)).acknowledged);
    } catch (error) {
      return error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe('the order of segments', () => {
  it('opens the next segment durably before it closes this one, and names both in its digest', async () => {
    const members = await startCluster(4);
    const { log } = await createLog(members[0]!);
    await appendAll(log, 0, 150);
    // The last one may be about to be opened.
    for (const segmentId of log.segmentIds.slice(0, -1)) {
      const bytes = log.segmentBytes(segmentId)!;
      const { offset } = scanSegment(bytes, { logId: 7n, segmentId, incarnation: 1 });
      const [header, digest] = [...segmentEntries(bytes, offset)];
      expect(header!.type).toBe(EntryType.SEGMENT_HEADER);
      const ids = log.segmentIds.filter((id) => id <= segmentId);
      expect(decodeDigest(digest!.payload)).toEqual(ids);
    }
  });

  it('acknowledges nothing in a segment before its predecessor is closed everywhere', async () => {
    const members = await startCluster(3);
    const { log } = await createLog(members[0]!, { replicas: 2 });
    // Either every replica of the first segment is closed, or the second segment has no data.
    const appends = Array.from({ length: 200 }, (_, number) => log.append(object(number)));
    for (const { acknowledged } of appends) {
      const { segmentId } = await acknowledged;
      if (segmentId === 1n) continue;
      for (const { backup } of members.slice(1)) {
        expect(() =>
          backup.closeReplica({ logId: 7n, segmentId: 1n }, { byteLength: 0, checksum: 0 }),
        ).toThrow(/closed before/);
      }
      break;
    }
    await Promise.all(appends.map(({ acknowledged }) => acknowledged));
  });
});

describe('group commit', () => {
  it('sends the appends of one turn of the event loop as one group', async () => {
    const members = await startCluster(2);
    const { log } = await createLog(members[0]!, { replicas: 1 });
    await Promise.all(Array.from({ length: 16 }, (_, number) => log.append(object(number)).acknowledged));
    const bytes = log.segmentBytes(1n)!;
    const { offset } = scanSegment(bytes, { logId: 7n, segmentId: 1n, incarnation: 1 });
    const checksums = [...segmentEntries(bytes, offset)].filter(({ type }) => type === EntryType.CHECKSUM);
    // One closes header and digest, one all of the objects.
    expect(checksums).toHaveLength(2);
  });

  it('several entries of one append are in one group', async () => {
    const members = await startCluster(2);
    const { log } = await createLog(members[0]!, { replicas: 1 });
    const { offsets, segmentId } = await log.append(object(1), object(2)).acknowledged;
    expect(segmentId).toBe(1n);
    expect(offsets).toHaveLength(2);
    const bytes = log.segmentBytes(1n)!;
    expect(
      [...segmentEntries(bytes.subarray(offsets[0]!), offsets[1]! - offsets[0]! + 12)].map(
        ({ type }) => type,
      ),
    ).toEqual([2, 2]);
  });
});

describe('loss of backups', () => {
  it('acknowledges nothing between the loss of a backup and the coordinator’s confirmation', async () => {
    const members = await startCluster(4);
    const { log, authority } = await createLog(members[0]!, { replicas: 2 });
    await appendAll(log, 0, 10);
    let letGo: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      authority.onRaise = () => {
        resolve();
        return new Promise((go) => {
          letGo = go;
        });
      };
    });
    await members[log.backups[0]!]!.kill();
    const append = log.append(object(10));
    let isAcknowledged = false;
    void append.acknowledged.then(() => {
      isAcknowledged = true;
    });
    await asked;
    expect(isAcknowledged).toBe(false);
    authority.onRaise = async () => {};
    letGo();
    await append.acknowledged;
    expect(authority.raised[0]).toEqual({ segmentId: 1n, epoch: 2 });
  });

  it('replaces a replica whose connection broke, and frees the stale one at its backup', async () => {
    const members = await startCluster(4);
    const { log } = await createLog(members[0]!, { replicas: 2 });
    await appendAll(log, 0, 10);
    const stale = members[log.backups[0]!]!;
    const ref = { logId: 7n, segmentId: 1n };
    // Has the effect of a failed device: the backup lives, its memory cannot be reached.
    await stale.backup.freeReplica(ref);
    await stale.backup.openReplica({
      ...ref,
      incarnation: 1,
      epoch: 1,
      segmentBytes: SEGMENT,
      committed: true,
    });
    await appendAll(log, 10, 20);
    await until(() => !stale.backup.holds(ref));
    expect(log.backups).not.toContain(stale.id);
    const survivors = members.filter(({ id }) => id !== stale.id);
    expect((await replicasOf(survivors, log)).get(1n)).toEqual([upTo(20), upTo(20)]);
  });

  it('replaces replacements that die, too', async () => {
    const members = await startCluster(7);
    const { log, authority } = await createLog(members[0]!, { replicas: 3 });
    await appendAll(log, 0, 100);
    const victims = log.backups.slice(0, 1);
    // The second victim is the backup that replaces the first, as soon as it has been asked.
    const open = members.map(({ backup }) => backup.openReplica.bind(backup));
    let killed: Promise<void> | undefined;
    for (const { id, backup, kill } of members.filter(({ id }) => id > 0 && !victims.includes(id))) {
      backup.openReplica = async (request) => {
        const grant = await open[id]!(request);
        if (request.epoch > 1 && !killed) {
          victims[1] = id;
          killed = kill();
        }
        return grant;
      };
    }
    await members[victims[0]!]!.kill();
    await appendAll(log, 100, 300);
    await killed;
    expect(victims).toHaveLength(2);
    // All of these writes may have completed at the second one before its thread ended.
    await until(() => !log.backups.some((id) => victims.includes(id)));
    await appendAll(log, 300, 350);
    expect(authority.raised.length).toBeGreaterThan(0);
    const survivors = members.filter(({ id }) => !victims.includes(id));
    await untilReplicated(survivors, log, 3);
    expectComplete(await replicasOf(survivors, log), 3, 350);
  });

  it('ends when the coordinator refuses: the log was declared dead', async () => {
    const members = await startCluster(4);
    const { log, authority } = await createLog(members[0]!, { replicas: 2 });
    authority.refuses = true;
    await members[log.backups[0]!]!.kill();
    // The log may have ended before the member had: then the append is refused at once.
    const append = async () => log.append(object(1)).acknowledged;
    await expect(append()).rejects.toEqual(refusal('ERR_RDMC_LOG_FENCED'));
    expect(log.signal.reason).toEqual(refusal('ERR_RDMC_LOG_FENCED'));
    expect(() => log.append(object(2))).toThrow(refusal('ERR_RDMC_LOG_FENCED'));
  });

  it('ends when a backup says that it is fenced', async () => {
    const members = await startCluster(4);
    const { log } = await createLog(members[0]!, { replicas: 3 });
    await appendAll(log, 0, 10);
    members[2]!.backup.fence(7n);
    await expect(appendAll(log, 10, 20)).rejects.toEqual(refusal('ERR_RDMC_LOG_FENCED'));
  });

  it('refuses appends while a lost replica cannot be replaced, and says why', async () => {
    const members = await startCluster(4, { buffers: 4 });
    const { log } = await createLog(members[0]!, { replicas: 3 });
    await appendAll(log, 0, 5);
    await members[3]!.kill();
    const waiting: Promise<unknown>[] = [];
    expect(await untilRefused(log, waiting)).toMatchObject({
      code: 'ERR_RDMC_TOO_FEW_BACKUPS',
      message: expect.stringContaining('fewer are available'),
    });
    await log.close();
    const outcomes = await Promise.allSettled(waiting);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toEqual(refusal('ERR_RDMC_LOG_CLOSED'));
    }
  });

  it('refuses appends that need a segment while no backup has room, and accepts them when one has', async () => {
    const members = await startCluster(2, { buffers: 2 });
    const { backup } = members[1]!;
    const other = {
      logId: 1n,
      segmentId: 1n,
      incarnation: 1,
      epoch: 1,
      segmentBytes: SEGMENT,
      committed: true,
    };
    await backup.openReplica(other);
    const { log } = await createLog(members[0]!, { replicas: 1 });
    const accepted: Promise<unknown>[] = [];
    expect(await untilRefused(log, accepted)).toMatchObject({
      code: 'ERR_RDMC_TOO_FEW_BACKUPS',
      message: expect.stringContaining('All 2 buffers of this backup'),
    });
    await backup.freeReplica(other);
    await Promise.all(accepted);
    let later: Promise<unknown> | undefined;
    await until(() => {
      try {
        later = log.append(object(2, 2000)).acknowledged;
      } catch {}
      return later !== undefined;
    });
    await expect(later).resolves.toMatchObject({ segmentId: 2n });
  });
});

describe('limits', () => {
  it('refuses to begin with too few members, or with backups without free buffers', async () => {
    const members = await startCluster(3, { buffers: 1 });
    await expect(createLog(members[0]!)).rejects.toEqual(refusal('ERR_RDMC_TOO_FEW_BACKUPS'));
    await members[1]!.backup.openReplica({
      logId: 1n,
      segmentId: 1n,
      incarnation: 1,
      epoch: 1,
      segmentBytes: SEGMENT,
      committed: true,
    });
    await expect(createLog(members[0]!, { replicas: 2 })).rejects.toMatchObject({
      code: 'ERR_RDMC_TOO_FEW_BACKUPS',
      message: expect.stringContaining('All 1 buffers of this backup'),
    });
  });

  it('refuses entries that are too large or of unknown type, and an empty append', async () => {
    const members = await startCluster(2);
    const { log } = await createLog(members[0]!, { replicas: 1 });
    expect(() => log.append(object(1, log.maxAppendBytes))).toThrow(refusal('ERR_RDMC_ENTRY_TOO_LARGE'));
    expect(() => log.append()).toThrow(refusal('ERR_RDMC_INVALID_OPTION'));
    expect(() => log.append({ type: EntryType.CHECKSUM, parts: [] })).toThrow(
      refusal('ERR_RDMC_INVALID_OPTION'),
    );
    await log.append(object(1, log.maxAppendBytes - 12 - 12 - 1)).acknowledged;
    const { segmentId, offsets } = await log.append(object(1), object(2)).acknowledged;
    const run = Uint8Array.from(
      log.segmentBytes(segmentId)!.subarray(offsets[0]!, 2 * offsets[1]! - offsets[0]!),
    );
    const cut = run.subarray(0, run.length - 1);
    const other = Uint8Array.from(run, (byte, at) => (at === offsets[1]! - offsets[0]! ? 4 : byte));
    for (const pieces of [[], [run, cut], [cut, run], [run, other], [run.subarray(0, 3)]]) {
      expect(() => log.appendRun(pieces)).toThrow(refusal('ERR_RDMC_INVALID_OPTION'));
    }
    const again = await log.appendRun([run, run]).acknowledged;
    expect(again.offsets).toHaveLength(4);
    for (const [index, offset] of again.offsets.entries()) {
      const from = log.entry({ segmentId, offset: offsets[index % 2]! })!;
      expect(log.entry({ segmentId: again.segmentId, offset })!.payload).toEqual(from.payload);
    }
  });

  it('refuses appends to a full log, and to one whose backups are behind', async () => {
    const members = await startCluster(2);
    const { log } = await createLog(members[0]!, { replicas: 1, maxSegments: 2 });
    await expect(appendAll(log, 0, 1000)).rejects.toEqual(refusal('ERR_RDMC_LOG_FULL'));
    const { log: other } = await createLog(members[0]!, { logId: 8n, replicas: 1, maxQueuedBytes: 1000 });
    expect(() => {
      for (let number = 0; number < 1000; number += 1) other.append(object(number));
    }).toThrow(refusal('ERR_RDMC_LOG_BACKPRESSURE'));
  });

  it('refuses wrong options', async () => {
    const members = await startCluster(2);
    for (const [name, value] of [
      ['replicas', 0],
      ['segmentBytes', 100],
      ['window', 0],
      ['mode', 'two-sided'],
      ['backups', [77]],
      ['logId', 5],
    ] as const) {
      await expect(createLog(members[0]!, { replicas: 1, [name]: value }), name).rejects.toMatchObject({
        code: 'ERR_RDMC_INVALID_OPTION',
        message: expect.stringContaining(name),
      });
    }
    await expect(createLog(members[0]!, { replica: 1 } as object)).rejects.toEqual(
      refusal('ERR_RDMC_UNKNOWN_OPTION'),
    );
  });
});
