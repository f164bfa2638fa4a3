import { mkdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeReplicaHeader } from '@rdmc/tailwind/format';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { crc32 } from '../src/format/crc32.js';
import { writeU32 } from '../src/format/layout.js';
import { encodeReplicaHeader, type ReplicaRecord } from '../src/storage/replica-header.js';
import { ReplicaStore } from '../src/storage/replica-store.js';
import { CLUSTER, filesIn } from './support/backups.js';
import { IDENTITY } from './support/segments.js';

const RECORD: ReplicaRecord = {
  ...IDENTITY,
  epoch: 9,
  state: 'closed',
  checksum: 0xfedc_ba98,
  byteLength: 100,
  floorBytes: 50,
  segmentBytes: 8192,
  committed: true,
  survivor: false,
};

async function storeWithReplica() {
  const directory = temporaryDirectory();
  const { store } = await ReplicaStore.open(directory, CLUSTER, 1);
  await store.write(RECORD, new Uint8Array(8192).fill(7));
  await store.close();
  return { directory, store, path: store.pathOf(RECORD) };
}

describe('a replica’s file', () => {
  it('has the documented header, and as many bytes as are in use', async () => {
    const { path } = await storeWithReplica();
    const bytes = readFileSync(path);
    expect(bytes).toHaveLength(4096 + 100);
    expect(bytes.subarray(0, 88).toString('hex')).toBe(
      '72646d632d747772' + // magic
        '01000000' + // version
        '00100000' + // header bytes
        '00112233445566778899aabbccddeeff' + // cluster
        '4d00000000000000' + // log
        '0300000000000000' + // segment
        '05000000' + // incarnation
        '09000000' + // epoch
        '02000000' + // closed
        '98badcfe' + // checksum
        '6400000000000000' + // length
        '3200000000000000' + // floor
        '00200000' + // segment bytes
        '01000000', // committed
    );
    expect(decodeReplicaHeader(bytes, 'it')).toEqual({ clusterId: CLUSTER, record: RECORD });
  });

  it('is found after a restart, and not after its removal', async () => {
    const { directory, store } = await storeWithReplica();
    expect(await ReplicaStore.open(directory, CLUSTER, 1)).toMatchObject({ replicas: [RECORD], damaged: [] });
    await store.remove(RECORD);
    await store.remove(RECORD);
    expect(filesIn(directory)).toEqual([]);
  });

  it('is not there when writing it failed', async () => {
    const { directory, store, path } = await storeWithReplica();
    mkdirSync(`${store.pathOf({ ...RECORD, segmentId: 4n })}.tmp`);
    await expect(store.write({ ...RECORD, segmentId: 4n }, new Uint8Array(100))).rejects.toMatchObject({
      code: 'EISDIR',
    });
    expect(filesIn(directory).filter((name) => name.endsWith('.replica'))).toHaveLength(1);
    expect(readFileSync(path)).toHaveLength(4196);
  });
});

describe('a directory', () => {
  it('of another cluster is refused, and nothing in it is touched', async () => {
    const { directory } = await storeWithReplica();
    writeFileSync(join(directory, 'x.replica.tmp'), '');
    const other = 'ffffffff-4455-6677-8899-aabbccddeeff';
    await expect(ReplicaStore.open(directory, other, 1)).rejects.toMatchObject({
      code: 'ERR_RDMC_REPLICA_FOREIGN_CLUSTER',
      message: expect.stringContaining(CLUSTER),
    });
    expect(filesIn(directory)).toHaveLength(2);
  });

  it('of another format version is refused', async () => {
    const { directory, path } = await storeWithReplica();
    const bytes = readFileSync(path);
    bytes[8] = 2;
    writeU32(bytes, 4092, crc32(bytes, 0, 4092, 0));
    writeFileSync(path, bytes);
    await expect(ReplicaStore.open(directory, CLUSTER, 1)).rejects.toMatchObject({
      code: 'ERR_RDMC_REPLICA_FOREIGN_VERSION',
    });
  });

  it('of a level is read by programs that speak it, and those of higher ones', () => {
    const header = encodeReplicaHeader(CLUSTER, RECORD, 2);
    expect(decodeReplicaHeader(header, 'it', 3)).toEqual({ clusterId: CLUSTER, record: RECORD });
    expect(decodeReplicaHeader(header, 'it', 2)).toEqual({ clusterId: CLUSTER, record: RECORD });
    expect(() => decodeReplicaHeader(header, 'it', 1)).toThrow(/version 2; .* up to 1$/);
  });

  it('is written in the format of the level at that time', async () => {
    const { store, directory } = await storeWithReplica();
    const version = (): number => readFileSync(store.pathOf(RECORD))[8]!;
    expect(version()).toBe(1);
    store.level = 2;
    await store.write(RECORD, new Uint8Array(RECORD.byteLength));
    expect(version()).toBe(2);
    await expect(ReplicaStore.open(directory, CLUSTER, 1)).rejects.toMatchObject({
      code: 'ERR_RDMC_REPLICA_FOREIGN_VERSION',
    });
  });

  it('removes files that a crash left unfinished', async () => {
    const { directory } = await storeWithReplica();
    writeFileSync(join(directory, 'x.replica.tmp'), 'half');
    writeFileSync(join(directory, 'notes.txt'), 'mine');
    await ReplicaStore.open(directory, CLUSTER, 1);
    expect(filesIn(directory).sort()).toEqual(['000000000000004d-0000000000000003.replica', 'notes.txt']);
  });

  it.each([
    ['a flipped bit in the header', 'ERR_RDMC_REPLICA_DAMAGED', (path: string) => flip(path, 60)],
    ['a flipped bit in the version', 'ERR_RDMC_REPLICA_DAMAGED', (path: string) => flip(path, 8)],
    ['a file that is too short', 'ERR_RDMC_REPLICA_DAMAGED', (path: string) => truncateSync(path, 4195)],
    ['a header that is cut off', 'ERR_RDMC_REPLICA_DAMAGED', (path: string) => truncateSync(path, 50)],
    [
      'another replica’s name',
      'ERR_RDMC_REPLICA_DAMAGED',
      (path: string) => renameSync(path, path.replace('3.', '4.')),
    ],
    [
      'other bytes altogether',
      'ERR_RDMC_REPLICA_FOREIGN_FILE',
      (path: string) => writeFileSync(path, 'hello'),
    ],
    [
      'a header that contradicts itself',
      'ERR_RDMC_REPLICA_DAMAGED',
      (path: string) => writeFileSync(path, encodeReplicaHeader(CLUSTER, { ...RECORD, byteLength: 9000 }, 1)),
    ],
  ])('with %s names the file and goes on with the others', async (_, code, damage) => {
    const { directory, store, path } = await storeWithReplica();
    const other = { ...RECORD, segmentId: 9n };
    await store.write(other, new Uint8Array(8192));
    damage(path);
    const opened = await ReplicaStore.open(directory, CLUSTER, 1);
    expect(opened.replicas).toEqual([other]);
    expect(opened.damaged).toMatchObject([{ code, path: expect.stringContaining(directory) }]);
    expect(filesIn(directory)).toHaveLength(2);
  });
});

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at]! ^= 1;
  writeFileSync(path, bytes);
}
