/**
 * Hostile bytes and answers: nothing is read outside of them, damaged data does not count, and every error has a code.
 */

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tryShape } from '@rdmc/common/shapes';
import { decodeObject, decodeTombstone, EntryType, TailwindError } from '@rdmc/tailwind';
import { FileStore } from '@rdmc/tailwind/coordinator';
import {
  decodeDigest,
  decodeReplicaHeader,
  decodeSegmentHeader,
  planRecovery,
  SegmentWriter,
  scanSegment,
  segmentEntries,
} from '@rdmc/tailwind/format';
import { type Random, rounds, temporaryDirectory } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { LogRegistry } from '../src/coordinator/log-registry.js';
import { crc32 } from '../src/format/crc32.js';
import { writeU32 } from '../src/format/layout.js';
import { inventoryAnswer } from '../src/rpc/messages.js';
import { encodeReplicaHeader, REPLICA_HEADER_BYTES } from '../src/storage/replica-header.js';
import { CLUSTER } from './support/backups.js';
import { HOSTILE_SEGMENTS } from './support/corpus.js';
import { IDENTITY, sampleSegment } from './support/segments.js';

const DECODERS = [decodeObject, decodeTombstone, decodeDigest, decodeSegmentHeader];
const INTERESTING = [0, 1, 2, 3, 4, 9, 11, 12, 0x7f, 0xff];
const MAX_U64 = 2n ** 64n - 1n;

/** Runs an action that may fail; only errors with one of these codes are accepted. */
async function answered<T>(codes: readonly string[], action: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof TailwindError) && (error as Error).name !== 'TailwindError') throw error;
    expect(codes).toContain((error as TailwindError).code);
    return undefined;
  }
}

/** Runs of quick properties: some hundred milliseconds. */
const ROUNDS = 300;

/** Some bytes changed, cut off, moved or added; and the first place that differs. */
function damage(random: Random, original: Uint8Array): { bytes: Uint8Array; first: number } {
  let bytes = Uint8Array.from(original);
  for (let times = 1 + random.below(3); times > 0; times -= 1) {
    const at = random.below(bytes.length + 1);
    const how = random.below(5);
    if (how === 0) bytes = bytes.slice(0, at);
    else if (how === 1) bytes.fill(random.of(INTERESTING), at, at + 1 + random.below(16));
    else if (how === 2 && at < bytes.length) bytes[at]! ^= 1 << random.below(8);
    else if (how === 3) bytes.copyWithin(at, random.below(bytes.length + 1), random.below(bytes.length + 1));
    else bytes.set(random.bytes(Math.min(8, bytes.length - at)), at);
  }
  let first = 0;
  while (first < bytes.length && bytes[first] === original[first]) first += 1;
  return { bytes, first };
}

/** Every entry of the complete prefix lies inside it, and its payload is decoded or refused with a code. */
async function checkEntries(bytes: Uint8Array, offset: number): Promise<void> {
  let end = 0;
  for (const entry of segmentEntries(bytes, offset)) {
    expect(entry.offset).toBe(end);
    end += 12 + entry.payload.length;
    for (const decode of DECODERS) {
      await answered(['ERR_RDMC_ENTRY_DAMAGED'], () => decode(entry.payload));
    }
  }
  expect(end).toBe(offset);
}

it.each(Object.entries(HOSTILE_SEGMENTS))(
  'a segment with %s is scanned and holds nothing',
  async (_, hex) => {
    const bytes = Uint8Array.from(Buffer.from(hex, 'hex'));
    expect(scanSegment(bytes, IDENTITY)).toMatchObject({ status: 'ok', offset: 0 });
    await rounds(30, async (random) => {
      const { bytes: changed } = damage(random, bytes);
      expect(scanSegment(changed, IDENTITY).offset).toBe(0);
    });
  },
);

it('a damaged segment has no entries from the damage on', async () => {
  await rounds(ROUNDS, async (random) => {
    const groups = Array.from({ length: 1 + random.below(4) }, () =>
      Array.from({ length: 1 + random.below(3) }, () => random.below(60)),
    );
    const { bytes: original, ends } = sampleSegment(2048, groups);
    const { bytes, first } = damage(random, original.subarray(0, ends.at(-1)! + random.below(40)));
    const { checksum } = scanSegment(original, IDENTITY);
    const certificate = { byteLength: ends.at(-1)!, checksum };
    const open = scanSegment(bytes, { ...IDENTITY, floorBytes: random.below(2048) });
    expect([0, ...ends]).toContain(open.offset);
    expect(open.offset).toBeLessThanOrEqual(first);
    await checkEntries(bytes, open.offset);
    const closed = scanSegment(bytes, { ...IDENTITY, certificate });
    expect(closed.status === 'ok').toBe(
      first >= certificate.byteLength && closed.offset === certificate.byteLength,
    );
    const lie = { byteLength: random.below(4096), checksum: random.below(2 ** 32) };
    const lied = scanSegment(bytes, { ...IDENTITY, certificate: lie });
    if (lied.status === 'ok') expect(lied).toMatchObject({ offset: lie.byteLength, checksum: lie.checksum });
  });
});

it('a segment with matching checksums may have any payloads', async () => {
  await rounds(100, async (random) => {
    const bytes = new Uint8Array(2048);
    const writer = new SegmentWriter(bytes, IDENTITY);
    const types = [
      EntryType.SEGMENT_HEADER,
      EntryType.OBJECT,
      EntryType.TOMBSTONE,
      EntryType.LOG_DIGEST,
    ] as const;
    for (let group = 1 + random.below(4); group > 0; group -= 1) {
      for (let entry = 1 + random.below(3); entry > 0; entry -= 1) {
        writer.append(random.of(types), random.bytes(random.below(40)));
      }
      writer.seal();
    }
    const { offset } = scanSegment(bytes, IDENTITY);
    expect(offset).toBe(writer.sealedBytes);
    await checkEntries(bytes, offset);
  });
});

it('the header of a replica’s file is read, or refused with a code', async () => {
  const codes = ['DAMAGED', 'FOREIGN_FILE', 'FOREIGN_VERSION'].map((end) => `ERR_RDMC_REPLICA_${end}`);
  await rounds(ROUNDS, async (random) => {
    const state = random.of(['open', 'closed'] as const);
    const record = { ...IDENTITY, epoch: 1, state, checksum: 7, byteLength: 100, floorBytes: 0 };
    const whole = { ...record, segmentBytes: 8192, committed: true, survivor: false };
    const header = encodeReplicaHeader(CLUSTER, whole, 1);
    const { bytes } = damage(random, header);
    if (bytes.length === REPLICA_HEADER_BYTES && random.below(2) === 0)
      writeU32(bytes, 4092, crc32(bytes, 0, 4092, 0));
    const read = await answered(codes, () => decodeReplicaHeader(bytes, 'it'));
    if (read) expect(read.record.byteLength).toBeLessThanOrEqual(read.record.segmentBytes);
  });
});

/** An answer of a backup about a replica, or something similar. */
function hostileReplica(random: Random): unknown {
  const number = (): unknown => random.of([0, 1, 2, 3, 5, 1000, 2 ** 32 - 1, 2 ** 32, -1, 0.5, null, '7']);
  const id = (): string =>
    random.of(['1', '2', '3', '4', String(MAX_U64), '99999999999999999999', '-1', 'x']);
  const digest = (): unknown => {
    const ids = [1n, 2n, 3n, 4n, MAX_U64].filter(() => random.below(2) === 0);
    const bytes = Buffer.alloc(ids.length * 8 + (random.below(10) === 0 ? 3 : 0));
    for (const [index, segmentId] of ids.entries()) bytes.writeBigUInt64LE(segmentId, index * 8);
    if (random.below(40) === 0) return '!';
    return random.below(4) === 0 ? null : bytes.toString('base64');
  };
  const scan = () => ({
    status: random.of(['ok', 'ok', 'ok', 'corrupt']),
    offset: random.of([0, 100, 200]),
    checksum: random.of([0, 5]),
    reason: 'end',
  });
  const any = random.below(20) === 0;
  return {
    segmentId: any ? id() : random.of(['1', '2', '3', '4']),
    incarnation: any ? number() : 1,
    epoch: any ? number() : random.below(3),
    state: random.of(['open', 'closed']),
    survivor: random.below(4) === 0,
    byteLength: any ? number() : random.of([100, 200]),
    checksum: any ? number() : 5,
    scan: random.below(4) === 0 ? null : scan(),
    digest: digest(),
  };
}

it('a recovery plans with any answers of backups, or refuses with a code', async () => {
  let planned = 0;
  await rounds(1000, async (random) => {
    const inventories = Array.from({ length: 1 + random.below(3) }, (_, member) => {
      const replicas = Array.from({ length: 1 + random.below(5) }, () => hostileReplica(random));
      return { member, replicas: tryShape(inventoryAnswer, replicas) ?? [] };
    });
    const minimum = { segmentId: BigInt(random.below(4)), epoch: random.below(3) };
    const codes = ['ERR_RDMC_LOG_INCOMPLETE', 'ERR_RDMC_ENTRY_DAMAGED'];
    const plan = await answered(codes, () => planRecovery(1n, inventories, minimum));
    if (!plan) return;
    planned += 1;
    const ids = plan.segments.map(({ segmentId }) => segmentId);
    expect(ids).toContain(plan.headId);
    expect([...ids].sort((a, b) => (a < b ? -1 : 1))).toEqual(ids);
    for (const { segmentId, candidates } of plan.segments) {
      expect(candidates.length).toBeGreaterThan(0);
      for (const member of candidates) {
        expect(inventories[member]!.replicas.some((replica) => replica.segmentId === segmentId)).toBe(true);
      }
    }
  });
  expect(planned).toBeGreaterThan(0);
});

/** A state file whose checksum matches. */
function stateFile(body: string): string {
  const sha256 = createHash('sha256').update(body).digest('hex');
  return `${JSON.stringify({ format: 1, sha256 })}\n${body}\n`;
}

const RECORD = JSON.stringify({
  ...{ logId: '1', incarnation: 1, owner: 0, state: 'live', recoverer: null, attempt: 0 },
  ...{ minimum: { segmentId: '0', epoch: 0 }, successors: [] },
});

it('a coordinator’s state is used, or refused with a code', async () => {
  const directory = temporaryDirectory();
  await rounds(60, async (random) => {
    const path = join(directory, 'state');
    const text = (original: string): string =>
      random.below(3) > 0
        ? original
        : Buffer.from(damage(random, Buffer.from(original)).bytes).toString('latin1');
    const entry = (value: string) => ({
      value,
      revision: random.below(30) > 0 ? 1 : random.of([0, -1, 1.5]),
    });
    const entries = {
      'last-log': entry(text('7')),
      'log/1': entry(text(RECORD)),
      cluster: entry(text(CLUSTER)),
    };
    const body = JSON.stringify({ revision: random.below(20) > 0 ? 2 : random.of([-1, null]), entries });
    writeFileSync(path, random.below(2) === 0 ? stateFile(text(body)) : text(stateFile(body)), 'latin1');
    const codes = ['ERR_RDMC_STATE_DAMAGED', 'ERR_RDMC_STATE_FOREIGN_VERSION', 'ERR_RDMC_LOG_UNKNOWN'];
    const store = await answered(codes, () => FileStore.open(path));
    if (!store) return;
    const registry = new LogRegistry(store);
    const actions = [() => registry.logs(), () => registry.log(1n), () => registry.declareDead(1n)];
    for (const action of [
      ...actions,
      () => registry.createLog({ member: 0, incarnation: 0 }),
      () => registry.clusterId(),
    ]) {
      await answered([...codes, 'ERR_RDMC_STATE_CONFLICT'], action as () => Promise<unknown>);
    }
    await store.close();
  });
});
