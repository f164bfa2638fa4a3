/** Durability: files that were not synced, and names in directories that were not synced, are lost in these tests. */

import { cpSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FileStore } from '../src/coordinator/file-store.js';
import type { ReplicaRecord } from '../src/storage/replica-header.js';
import { REPLICA_HEADER_BYTES } from '../src/storage/replica-header.js';
import { ReplicaStore } from '../src/storage/replica-store.js';
import { CLUSTER, filesIn } from './support/backups.js';
import { afterPowerLoss, atEveryStep, renamedEarly, shortWrites } from './support/forgetful-disk.js';
import { IDENTITY } from './support/segments.js';

// Other files have loaded these modules, and will use them again, without the mock.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
vi.mock('node:fs/promises', async (original) => {
  const { watched } = await import('./support/forgetful-disk.js');
  return watched(await original());
});
vi.mock('@rdmc/common', async (original) => {
  const { watchedDirectories } = await import('./support/forgetful-disk.js');
  return watchedDirectories(await original(), await import('node:fs/promises'));
});

const RECORD: ReplicaRecord = {
  ...IDENTITY,
  epoch: 1,
  state: 'closed',
  checksum: 7,
  byteLength: 100,
  floorBytes: 0,
  segmentBytes: 8192,
  committed: true,
  survivor: false,
};

beforeEach(() => {
  renamedEarly.length = 0;
  shortWrites.most = Number.POSITIVE_INFINITY;
});
afterEach(() => {
  expect(renamedEarly).toEqual([]);
});

async function replicasIn(directory: string): Promise<ReplicaRecord[]> {
  const { store, replicas, damaged } = await ReplicaStore.open(directory, CLUSTER, 1);
  await store.close();
  expect(damaged).toEqual([]);
  return replicas;
}

async function valueIn(path: string): Promise<string | undefined> {
  const store = await FileStore.open(path);
  const found = await store.get('key');
  await store.close();
  return found?.value;
}

/** Disk images at every moment of an action: with the synced names, and with names that the kernel wrote earlier. */
async function imagesDuring(directory: string, action: () => Promise<unknown>): Promise<string[]> {
  const images: string[] = [];
  const end = atEveryStep(() => images.push(afterPowerLoss(directory), afterPowerLoss(directory, true)));
  await action();
  end();
  return images;
}

describe('a replica’s file', () => {
  it('is on the disk with its name, its bytes and the directories that were missing when it was written', async () => {
    const top = temporaryDirectory();
    const directory = join(top, 'new', 'backup');
    const { store } = await ReplicaStore.open(directory, CLUSTER, 1);
    const bytes = new Uint8Array(8192).fill(9);
    await store.write(RECORD, bytes);
    const image = join(afterPowerLoss(top), 'new', 'backup');
    expect(await replicasIn(image)).toEqual([RECORD]);
    const file = readFileSync(join(image, filesIn(image)[0]!));
    expect(file.subarray(REPLICA_HEADER_BYTES)).toEqual(Buffer.from(bytes.subarray(0, 100)));
    await store.close();
  });

  it('is complete or missing at every moment, also when it replaces another one', async () => {
    const directory = temporaryDirectory();
    const { store } = await ReplicaStore.open(directory, CLUSTER, 1);
    await store.write(RECORD, new Uint8Array(8192));
    const later = { ...RECORD, epoch: 2 };
    const images = await imagesDuring(directory, () => store.write(later, new Uint8Array(8192).fill(1)));
    expect(images.length).toBeGreaterThan(4);
    for (const image of images) expect([[RECORD], [later]]).toContainEqual(await replicasIn(image));
    await store.close();
  });

  it('that was written in part is an error, and the earlier file stays', async () => {
    const directory = temporaryDirectory();
    const { store } = await ReplicaStore.open(directory, CLUSTER, 1);
    await store.write(RECORD, new Uint8Array(8192));
    shortWrites.most = REPLICA_HEADER_BYTES + 99;
    const write = store.write({ ...RECORD, epoch: 2 }, new Uint8Array(8192));
    await expect(write).rejects.toMatchObject({ code: 'ENOSPC' });
    await store.close();
    expect(await replicasIn(directory)).toEqual([RECORD]);
    expect(filesIn(directory)).toHaveLength(1);
  });

  it('is gone for good when it was removed', async () => {
    const directory = temporaryDirectory();
    const { store } = await ReplicaStore.open(directory, CLUSTER, 1);
    await store.write(RECORD, new Uint8Array(8192));
    await store.remove(RECORD);
    expect(await replicasIn(afterPowerLoss(directory))).toEqual([]);
    await store.close();
  });
});

describe('a coordinator’s state', () => {
  it('is on the disk when a change was made, with the directories that were missing', async () => {
    const top = temporaryDirectory();
    const path = join('deep', 'er', 'state');
    const store = await FileStore.open(join(top, path));
    const revision = await store.put('key', 'one', 0);
    expect(await valueIn(join(afterPowerLoss(top), path))).toBe('one');
    await store.put('key', 'two', revision);
    expect(await valueIn(join(afterPowerLoss(top), path))).toBe('two');
    await store.close();
  });

  it('is on the disk when a change was made after its directory was replaced', async () => {
    const directory = join(temporaryDirectory(), 'coordinator');
    const store = await FileStore.open(join(directory, 'state'));
    const revision = await store.put('key', 'one', 0);
    renameSync(directory, `${directory}-before`);
    cpSync(`${directory}-before`, directory, { recursive: true });
    await store.put('key', 'two', revision);
    expect(await valueIn(join(afterPowerLoss(directory), 'state'))).toBe('two');
    await store.close();
  });

  it('is the old one or the new one at every moment of a change', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'state');
    const store = await FileStore.open(path);
    const revision = await store.put('key', 'one', 0);
    const images = await imagesDuring(directory, () => store.put('key', 'two', revision));
    expect(images.length).toBeGreaterThan(4);
    for (const image of images) expect(['one', 'two']).toContain(await valueIn(join(image, 'state')));
    await store.close();
  });
});
