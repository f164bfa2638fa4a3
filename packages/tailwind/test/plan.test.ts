import { encodeDigest, type InventoryEntry, planRecovery } from '@rdmc/tailwind/format';
import { describe, expect, it } from 'vitest';

const MINIMUM = { segmentId: 0n, epoch: 0 };

function digest(...ids: bigint[]): string {
  return Buffer.from(encodeDigest(ids)).toString('base64');
}

function closed(segmentId: bigint, byteLength = 1000): InventoryEntry {
  return {
    segmentId,
    incarnation: 1,
    epoch: 1,
    state: 'closed',
    survivor: false,
    byteLength,
    checksum: 5,
    scan: null,
    digest: null,
  };
}

function open(segmentId: bigint, offset: number, names: string | null, epoch = 1): InventoryEntry {
  const scan = { status: 'ok', offset, checksum: 5, reason: 'zero-type' } as const;
  return {
    segmentId,
    incarnation: 1,
    epoch,
    state: 'open',
    survivor: false,
    byteLength: 4096,
    checksum: 0,
    scan,
    digest: names,
  };
}

function plan(replicas: Record<number, InventoryEntry[]>, minimum = MINIMUM) {
  return planRecovery(
    7n,
    Object.entries(replicas).map(([member, list]) => ({ member: Number(member), replicas: list })),
    minimum,
  );
}

function incomplete(...missing: bigint[]) {
  return expect.objectContaining({ code: 'ERR_RDMC_LOG_INCOMPLETE', missing });
}

describe('a recovery’s plan', () => {
  it('takes the lowest open segment with a digest as the head, and what its digest names', () => {
    const found = plan({
      1: [closed(1n), open(2n, 500, digest(1n, 2n))],
      2: [closed(1n), open(2n, 400, digest(1n, 2n)), open(3n, 100, digest(1n, 2n, 3n))],
    });
    expect(found).toEqual({
      headId: 2n,
      segments: [
        { segmentId: 1n, candidates: [1, 2], floorBytes: 1000, checksum: 5 },
        { segmentId: 2n, candidates: [1], floorBytes: 500, checksum: 5 },
      ],
    });
  });

  it('ignores open replicas below the minimum, but no closed ones', () => {
    const replicas = {
      1: [open(1n, 4000, digest(1n), 1)],
      2: [closed(1n), open(2n, 300, digest(1n, 2n), 2)],
      3: [open(2n, 900, digest(1n, 2n), 1)],
    };
    expect(plan(replicas, { segmentId: 2n, epoch: 2 })).toEqual({
      headId: 2n,
      segments: [
        { segmentId: 1n, candidates: [2], floorBytes: 1000, checksum: 5 },
        { segmentId: 2n, candidates: [2], floorBytes: 300, checksum: 5 },
      ],
    });
  });

  it('ignores corrupt open replicas and those without a digest', () => {
    const corrupt = open(1n, 700, digest(1n));
    const replicas = {
      1: [{ ...corrupt, scan: { ...corrupt.scan!, status: 'corrupt' as const } }],
      2: [open(1n, 300, digest(1n))],
      3: [open(1n, 0, null)],
    };
    expect(plan(replicas)).toEqual({
      headId: 1n,
      segments: [{ segmentId: 1n, candidates: [2], floorBytes: 300, checksum: 5 }],
    });
  });

  it('does not take a segment for the head if it, or a later one, has a closed replica', () => {
    const next = open(2n, 100, digest(1n, 2n));
    const closing = { 1: [open(1n, 900, digest(1n))], 2: [closed(1n, 950)], 3: [open(1n, 950, digest(1n))] };
    expect(plan({ ...closing, 4: [next] })).toEqual({
      headId: 2n,
      segments: [
        { segmentId: 1n, candidates: [2, 3], floorBytes: 950, checksum: 5 },
        { segmentId: 2n, candidates: [4], floorBytes: 100, checksum: 5 },
      ],
    });
    // The next segment was durably open before: without any replica of it, the end of the log is unknown.
    expect(() => plan(closing)).toThrow(incomplete());
    // An open copy of the first segment, of whatever origin, does not hide later segments.
    const later = {
      1: [open(1n, 950, digest(1n))],
      2: [closed(2n)],
      3: [open(3n, 500, digest(1n, 2n, 3n)), closed(1n)],
    };
    expect(plan(later).headId).toBe(3n);
  });

  it('takes an open replica of a closed segment when it ends exactly at the certificate, and no other', () => {
    const [whole, other] = [open(1n, 950, digest(1n)), open(1n, 950, digest(1n))];
    const foreign = { ...other, scan: { ...other.scan!, checksum: 6 } };
    const found = plan({
      1: [whole, open(2n, 100, digest(1n, 2n))],
      2: [closed(1n, 950)],
      3: [foreign],
      4: [open(1n, 940, digest(1n))],
      5: [open(1n, 960, digest(1n))],
    });
    expect(found.segments[0]).toEqual({ segmentId: 1n, candidates: [2, 1], floorBytes: 950, checksum: 5 });
  });

  it('never takes a survivor for the head, whatever digest it has', () => {
    const survivor = { ...open(4n, 300, digest(4n)), survivor: true };
    const { headId } = plan({ 1: [closed(1n), survivor], 2: [open(5n, 400, digest(1n, 5n))] });
    expect(headId).toBe(5n);
  });

  it('ignores survivors in the search for the head: they may be closed or open', () => {
    const survivor = { ...closed(6n), survivor: true };
    const unfinished = { ...open(7n, 300, null), survivor: true };
    const before = { 1: [closed(1n), survivor], 2: [open(5n, 400, digest(1n, 5n)), unfinished] };
    expect(plan(before)).toEqual({
      headId: 5n,
      segments: [
        { segmentId: 1n, candidates: [1], floorBytes: 1000, checksum: 5 },
        { segmentId: 5n, candidates: [2], floorBytes: 400, checksum: 5 },
      ],
    });
    const after = { 1: [survivor], 2: [closed(5n)], 3: [open(8n, 100, digest(5n, 6n, 8n))] };
    expect(plan(after).segments.map(({ segmentId }) => segmentId)).toEqual([5n, 6n, 8n]);
  });

  it('refuses when the end of the log cannot be found', () => {
    expect(() => plan({})).toThrow(incomplete());
    expect(() => plan({ 1: [closed(1n)] })).toThrow(incomplete());
    expect(() => plan({ 1: [open(1n, 500, digest(1n), 1)] }, { segmentId: 1n, epoch: 2 })).toThrow(
      incomplete(),
    );
  });

  it('refuses when a segment is missing, and names it', () => {
    expect(() => plan({ 1: [open(3n, 100, digest(1n, 2n, 3n))], 2: [closed(2n)] })).toThrow(incomplete(1n));
    // All backups of the head are gone; the one after it, open and empty, does not hide that.
    expect(() => plan({ 1: [closed(1n), open(3n, 100, digest(1n, 2n, 3n))] })).toThrow(incomplete(2n));
  });
});
