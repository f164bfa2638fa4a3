import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Deferred } from '@rdmc/common';
import { Backup } from '@rdmc/tailwind/backup';
import { scanSegment } from '@rdmc/tailwind/format';
import { refusal, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { type BackupRig, CLUSTER, filesIn, opening, SEGMENT_BYTES, startBackup } from './support/backups.js';
import { loaded } from './support/loaded.js';
import { IDENTITY, sampleSegment } from './support/segments.js';

const sample = sampleSegment(SEGMENT_BYTES, [[5], [100, 200]]);
const end = sample.ends[1]!;
const written = sample.bytes.subarray(0, end);
const { checksum } = scanSegment(sample.bytes, IDENTITY);
const certificate = { byteLength: end, checksum };

async function openAndWrite({ backup, write }: BackupRig, changes = {}) {
  const grant = await backup.openReplica(opening(changes));
  expect(await write(grant, 0, written)).toBe('SUCCESS');
  return grant;
}

describe('buffers', () => {
  it('takes one-sided writes, and reports how much is complete', async () => {
    const rig = await startBackup();
    await openAndWrite(rig);
    const [report] = await rig.backup.inventory(IDENTITY.logId);
    expect(report).toMatchObject({
      record: { ...IDENTITY, state: 'open', epoch: 1 },
      scan: { status: 'ok', offset: end, checksum, reason: 'zero-type' },
    });
    expect(await rig.backup.inventory(78n)).toEqual([]);
  });

  it('refuses to open when all buffers are open or unflushed, and opens again after a flush', async () => {
    const { backup } = await startBackup();
    await backup.openReplica(opening());
    await backup.openReplica(opening({ segmentId: 4n }));
    expect(backup.buffers).toEqual({ free: 0, used: 2, limit: 2 });
    await expect(backup.openReplica(opening({ segmentId: 5n }))).rejects.toEqual(
      refusal('ERR_RDMC_BACKUP_FULL'),
    );
    backup.closeReplica(opening(), { byteLength: 0, checksum: 0 });
    await backup.flushed(opening());
    await backup.openReplica(opening({ segmentId: 5n }));
  });

  it('grants zeroed buffers, also after earlier use', async () => {
    const rig = await startBackup({ buffers: 1 });
    for (let segmentId = 10n; segmentId < 14n; segmentId += 1n) {
      await openAndWrite(rig, { segmentId });
      const { bytes } = await loaded(rig.backup, { ...IDENTITY, segmentId });
      expect(bytes.subarray(end).every((byte) => byte === 0)).toBe(true);
      await rig.backup.freeReplica({ ...IDENTITY, segmentId });
    }
  });

  it('revokes access when a segment is closed: a late write has no effect', async () => {
    const rig = await startBackup({ buffers: 1 });
    const grant = await openAndWrite(rig);
    rig.backup.closeReplica(IDENTITY, certificate);
    expect(await rig.write(grant, 0, new Uint8Array(64).fill(255))).toBe('REMOTE_ACCESS_ERROR');
    await rig.backup.flushed(IDENTITY);
    const next = { ...IDENTITY, segmentId: 4n };
    await rig.backup.openReplica(opening(next));
    expect((await loaded(rig.backup, next)).bytes.every((byte) => byte === 0)).toBe(true);
    expect((await loaded(rig.backup, IDENTITY)).result).toMatchObject({ status: 'ok', offset: end });
  });

  it('refuses requests that do not fit the state of a replica', async () => {
    const { backup } = await startBackup();
    const unknown = { ...IDENTITY, segmentId: 99n };
    await backup.openReplica(opening());
    await expect(backup.openReplica(opening())).rejects.toEqual(refusal('ERR_RDMC_REPLICA_EXISTS'));
    await expect(
      backup.openReplica(opening({ segmentId: 8n, segmentBytes: SEGMENT_BYTES + 1 })),
    ).rejects.toEqual(refusal('ERR_RDMC_INVALID_OPTION'));
    expect(() => backup.closeReplica(unknown, certificate)).toThrow(refusal('ERR_RDMC_REPLICA_UNKNOWN'));
    expect(() => backup.setEpoch(IDENTITY, 0)).toThrow(refusal('ERR_RDMC_REPLICA_STATE'));
    const beyond = { byteLength: SEGMENT_BYTES + 1, checksum: 1 };
    expect(() => backup.closeReplica(IDENTITY, beyond)).toThrow(refusal('ERR_RDMC_REPLICA_STATE'));
    backup.closeReplica(IDENTITY, certificate);
    backup.closeReplica(IDENTITY, certificate);
    const other = { byteLength: end, checksum: 1 };
    expect(() => backup.closeReplica(IDENTITY, other)).toThrow(refusal('ERR_RDMC_REPLICA_STATE'));
    await backup.freeReplica(unknown);
    await backup.close();
    await expect(backup.openReplica(opening())).rejects.toEqual(refusal('ERR_RDMC_BACKUP_CLOSED'));
  });
});

describe('files', () => {
  it('a closed replica survives the process in its file', async () => {
    const rig = await startBackup();
    await openAndWrite(rig);
    rig.backup.closeReplica(IDENTITY, certificate);
    await rig.backup.flushed(IDENTITY);
    expect(filesIn(rig.directory)).toEqual(['000000000000004d-0000000000000003.replica']);
    await rig.backup.close();
    const { backup } = await startBackup({ directory: rig.directory });
    expect(await backup.inventory(IDENTITY.logId)).toMatchObject([
      { record: { ...IDENTITY, ...certificate, state: 'closed' }, scan: undefined },
    ]);
    const { result, bytes } = await loaded(backup, IDENTITY);
    expect(result).toEqual({ status: 'ok', offset: end, checksum, reason: 'end' });
    expect(Buffer.compare(bytes, written)).toBe(0);
    await backup.flushed(IDENTITY);
  });

  it('says which writes to files failed, until each segment is written or freed', async () => {
    const rig = await startBackup({ buffers: 3 });
    const { backup, directory } = rig;
    const refs = [3n, 4n, 5n].map((segmentId) => ({ ...IDENTITY, segmentId }));
    // The name of the unfinished file is that of a directory.
    const blocked = refs
      .slice(0, 2)
      .map(({ segmentId }) => join(directory, `000000000000004d-000000000000000${segmentId}.replica.tmp`));
    for (const path of blocked) await mkdir(path);
    const close = async (ref: (typeof refs)[number]): Promise<void> => {
      await openAndWrite(rig, ref);
      backup.closeReplica(ref, certificate);
    };
    expect([backup.flushFailure, backup.failedFlushes]).toEqual([undefined, 0]);
    for (const ref of refs.slice(0, 2)) await close(ref);
    await until(() => backup.flushFailure?.segments === 2);
    // Another segment that is written does not hide it.
    await close(refs[2]!);
    await backup.flushed(refs[2]!);
    await until(() => backup.failedFlushes > 2);
    expect(backup.flushFailure).toMatchObject({
      code: 'EISDIR',
      reason: expect.stringContaining('EISDIR'),
      segments: 2,
      attempts: backup.failedFlushes,
      milliseconds: expect.any(Number),
    });
    rmSync(blocked[0]!, { recursive: true });
    await backup.flushed(refs[0]!);
    expect(backup.flushFailure).toMatchObject({ segments: 1 });
    await backup.freeReplica(refs[1]!);
    expect(backup.flushFailure).toBeUndefined();
  });

  it('confirms a closed replica with its certificate, and not another one, or one that is damaged', async () => {
    const rig = await startBackup();
    const other = { byteLength: end, checksum: 1 };
    await openAndWrite(rig);
    await expect(rig.backup.checkClosed(IDENTITY, certificate)).rejects.toEqual(
      refusal('ERR_RDMC_REPLICA_STATE'),
    );
    rig.backup.closeReplica(IDENTITY, certificate);
    await rig.backup.checkClosed(IDENTITY, certificate);
    await rig.backup.flushed(IDENTITY);
    await rig.backup.close();
    const back = await startBackup({ directory: rig.directory });
    await back.backup.checkClosed(IDENTITY, certificate);
    await expect(back.backup.checkClosed(IDENTITY, other)).rejects.toEqual(refusal('ERR_RDMC_REPLICA_STATE'));
    await expect(back.backup.checkClosed({ ...IDENTITY, segmentId: 99n }, certificate)).rejects.toEqual(
      refusal('ERR_RDMC_REPLICA_UNKNOWN'),
    );
    const path = join(rig.directory, filesIn(rig.directory)[0]!);
    const bytes = readFileSync(path);
    bytes[bytes.length - 10]! ^= 1;
    writeFileSync(path, bytes);
    await expect(back.backup.checkClosed(IDENTITY, certificate)).rejects.toEqual(
      refusal('ERR_RDMC_REPLICA_MISMATCH'),
    );
    back.backup.fence(IDENTITY.logId);
    await expect(back.backup.checkClosed(IDENTITY, certificate)).rejects.toEqual(
      refusal('ERR_RDMC_LOG_FENCED'),
    );
  });

  it('a dump keeps open and closed replicas, and revokes access first', async () => {
    const rig = await startBackup();
    const grant = await openAndWrite(rig);
    await openAndWrite(rig, { segmentId: 4n, epoch: 7 });
    rig.backup.closeReplica({ ...IDENTITY, segmentId: 4n }, certificate);
    const dumped = rig.backup.dump();
    expect(await rig.write(grant, 0, new Uint8Array(64).fill(255))).toBe('REMOTE_ACCESS_ERROR');
    await dumped;
    const { backup } = await startBackup({ directory: rig.directory });
    const reports = await backup.inventory(IDENTITY.logId);
    expect(reports).toMatchObject([
      { record: { segmentId: 3n, state: 'open' }, scan: { status: 'ok', offset: end, checksum } },
      { record: { segmentId: 4n, state: 'closed', epoch: 7 } },
    ]);
    expect(backup.buffers.used).toBe(0);
    expect(() => backup.closeReplica(IDENTITY, certificate)).toThrow(refusal('ERR_RDMC_LOG_FENCED'));
  });

  it('a buffer stays in use while the disk fails, until the replica is written', async () => {
    const warned = new Deferred<void>();
    const rig = await startBackup({ logger: { warn: () => warned.resolve() } });
    await openAndWrite(rig);
    rmSync(rig.directory, { recursive: true });
    rig.backup.closeReplica(IDENTITY, certificate);
    await warned.promise;
    expect(rig.backup.buffers.used).toBe(1);
    expect((await loaded(rig.backup, IDENTITY)).result.status).toBe('ok');
    await mkdir(rig.directory);
    await rig.backup.flushed(IDENTITY);
    expect(rig.backup.buffers.used).toBe(0);
    expect(filesIn(rig.directory)).toHaveLength(1);
  });

  it('a second call of dump returns the first dump', async () => {
    const rig = await startBackup();
    await openAndWrite(rig);
    const dumps = [rig.backup.dump(), rig.backup.dump(), rig.backup.close()];
    await Promise.all(dumps);
    const { backup } = await startBackup({ directory: rig.directory });
    expect(await backup.inventory(IDENTITY.logId)).toMatchObject([{ scan: { status: 'ok', offset: end } }]);
  });

  it('a directory belongs to one backup at a time', async () => {
    const rig = await startBackup();
    await expect(startBackup({ directory: rig.directory })).rejects.toEqual(refusal('ERR_RDMC_STATE_LOCKED'));
    await rig.backup.close();
    await startBackup({ directory: rig.directory });
  });

  it('freeing removes buffer and file', async () => {
    const rig = await startBackup();
    for (const flush of [true, false]) {
      await openAndWrite(rig);
      rig.backup.closeReplica(IDENTITY, certificate);
      if (flush) await rig.backup.flushed(IDENTITY);
      await rig.backup.freeReplica(IDENTITY);
      expect(filesIn(rig.directory)).toEqual([]);
      expect(rig.backup.buffers.used).toBe(0);
      await expect(loaded(rig.backup, IDENTITY)).rejects.toEqual(refusal('ERR_RDMC_REPLICA_UNKNOWN'));
    }
    await openAndWrite(rig, { logId: 5n });
    await openAndWrite(rig, { logId: 6n });
    await rig.backup.freeLog(5n);
    expect(await rig.backup.inventory(5n)).toEqual([]);
    expect(await rig.backup.inventory(6n)).toHaveLength(1);
  });
});

describe('fencing and replacement', () => {
  it('refuses every request of a fenced log’s primary', async () => {
    const rig = await startBackup();
    const grant = await openAndWrite(rig);
    rig.backup.fence(IDENTITY.logId);
    const fenced = refusal('ERR_RDMC_LOG_FENCED');
    expect(await rig.write(grant, end, written)).toBe('REMOTE_ACCESS_ERROR');
    await expect(rig.backup.openReplica(opening({ segmentId: 4n }))).rejects.toEqual(fenced);
    expect(() => rig.backup.closeReplica(IDENTITY, certificate)).toThrow(fenced);
    expect(() => rig.backup.setEpoch(IDENTITY, 2)).toThrow(fenced);
    await expect(rig.backup.freeReplica(IDENTITY)).rejects.toEqual(fenced);
    await expect(rig.backup.commitReplica(IDENTITY, 2, certificate)).rejects.toEqual(fenced);
    expect(await rig.backup.inventory(IDENTITY.logId)).toMatchObject([{ scan: { offset: end } }]);
    await rig.backup.openReplica(opening({ logId: 78n }));
  });

  it('a replacement is invisible until it is committed with what it holds', async () => {
    const rig = await startBackup();
    await openAndWrite(rig, { epoch: 2, committed: false });
    const mismatch = refusal('ERR_RDMC_REPLICA_MISMATCH');
    await expect(
      rig.backup.commitReplica(IDENTITY, 2, { byteLength: end, checksum: checksum ^ 1 }),
    ).rejects.toEqual(mismatch);
    await expect(rig.backup.commitReplica(IDENTITY, 2, { byteLength: end + 16, checksum })).rejects.toEqual(
      mismatch,
    );
    await rig.backup.commitReplica(IDENTITY, 2, certificate);
    rig.backup.setEpoch(IDENTITY, 3);
    expect(await rig.backup.inventory(IDENTITY.logId)).toMatchObject([
      { record: { epoch: 3, committed: true, floorBytes: end }, scan: { status: 'ok' } },
    ]);
  });

  it('a replacement exists beside the replica that it replaces until it is committed', async () => {
    const rig = await startBackup({ buffers: 3 });
    await openAndWrite(rig);
    await openAndWrite(rig, { epoch: 2, committed: false });
    expect(await rig.backup.inventory(IDENTITY.logId)).toMatchObject([
      { record: { epoch: 1 }, scan: { offset: end } },
    ]);
    // Abandoned for another attempt: its buffer is freed.
    const { backup } = await startBackup({ buffers: 3 });
    await backup.openReplica(opening());
    await backup.openReplica(opening({ epoch: 2, committed: false }));
    await backup.openReplica(opening({ epoch: 3, committed: false }));
    expect(backup.buffers.used).toBe(2);
    await backup.commitReplica(IDENTITY, 3, { byteLength: 0, checksum: 0 });
    await backup.freeReplica({ ...IDENTITY, segmentId: 99n });
    await until(() => backup.buffers.used === 1);
    expect(await backup.inventory(IDENTITY.logId)).toMatchObject([{ record: { epoch: 3 } }]);
  });

  it('the copy of a closed replica is closed when recovery first sees it', async () => {
    const rig = await startBackup();
    const grant = await openAndWrite(rig, { epoch: 4, committed: false });
    const wrong = rig.backup.restoreReplica(IDENTITY, 4, { byteLength: end, checksum: checksum ^ 1 });
    await expect(wrong).rejects.toEqual(refusal('ERR_RDMC_REPLICA_MISMATCH'));
    const restored = rig.backup.restoreReplica(IDENTITY, 4, certificate);
    expect(rig.backup.holds(IDENTITY)).toBe(false);
    expect(await rig.write(grant, 0, new Uint8Array(64))).toBe('REMOTE_ACCESS_ERROR');
    await restored;
    expect(await rig.backup.inventory(IDENTITY.logId)).toMatchObject([
      { record: { state: 'closed', epoch: 4 } },
    ]);
    await rig.backup.flushed(IDENTITY);
    expect((await loaded(rig.backup, IDENTITY)).result).toMatchObject({ status: 'ok', offset: end });
  });

  it('does not commit a replacement that was freed during its scan', async () => {
    const rig = await startBackup();
    await openAndWrite(rig, { epoch: 2, committed: false });
    const refused = expect(rig.backup.commitReplica(IDENTITY, 2, certificate)).rejects.toEqual(
      refusal('ERR_RDMC_REPLICA_UNKNOWN'),
    );
    await rig.backup.freeReplica(IDENTITY);
    await refused;
    expect(rig.backup.holds(IDENTITY)).toBe(false);
  });

  it('an uncommitted replacement is not in the inventory', async () => {
    const rig = await startBackup();
    await openAndWrite(rig, { epoch: 2, committed: false });
    expect(await rig.backup.inventory(IDENTITY.logId)).toEqual([]);
  });

  it('a committed replacement that lost bytes is corrupt', async () => {
    const rig = await startBackup();
    const grant = await openAndWrite(rig, { committed: false });
    await rig.backup.commitReplica(IDENTITY, 2, certificate);
    expect(await rig.write(grant, end - 20, new Uint8Array(20))).toBe('SUCCESS');
    expect(await rig.backup.inventory(IDENTITY.logId)).toMatchObject([
      { scan: { status: 'corrupt', offset: sample.ends[0] } },
    ]);
  });
});

describe('options', () => {
  it.each([
    ['directory', { directory: '' }, 'ERR_RDMC_INVALID_OPTION'],
    ['clusterId', { clusterId: 'mine' }, 'ERR_RDMC_INVALID_OPTION'],
    ['segmentBytes', { segmentBytes: 100 }, 'ERR_RDMC_INVALID_OPTION'],
    ['buffers', { buffers: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['bufers', { bufers: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
  ])('refuses a wrong %s', async (name, wrong, code) => {
    const { protectionDomain, directory } = await startBackup();
    const options = { protectionDomain, directory, clusterId: CLUSTER, ...wrong };
    await expect(Backup.open(options)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(name),
    });
  });
});

it('a backup that closes abandons its own scans, and those of another backup in the process go on', async () => {
  const [closing, other] = [await startBackup(), await startBackup()];
  for (const rig of [closing, other]) await openAndWrite(rig);
  const abandoned = loaded(closing.backup, IDENTITY).catch((error: unknown) => error);
  const complete = loaded(other.backup, IDENTITY);
  await closing.backup.close();
  expect(await abandoned).toBeInstanceOf(Error);
  expect((await complete).result).toMatchObject({ status: 'ok', offset: end });
  expect((await loaded(other.backup, IDENTITY)).result.offset).toBe(end);
});
