/** Threads scan for nothing before a recovery, which then finds them started and their code compiled. */
import { expect, it, vi } from 'vitest';
import { Replica } from '../src/backup/replica.js';
import { ReplicaScanner } from '../src/backup/replica-scanner.js';
import { REHEARSALS } from '../src/constants.js';
import { BackupService } from '../src/rpc/backup-service.js';
import scan from '../src/scan-worker.js';
import type { ScanJob } from '../src/scanner/scan-job.js';
import { SCAN_THREADS } from '../src/scanner/scanner.js';
import { IDENTITY, sampleSegment } from './support/segments.js';

const SEGMENT_BYTES = 8192;
const DIVIDER = new URL('./fixtures/divider.mjs', import.meta.url).href;
const { bytes, ends } = sampleSegment(SEGMENT_BYTES, [[5], [100, 200]]);

function replica(segmentId: bigint, state: 'open' | 'closed'): Replica {
  const record = {
    ...IDENTITY,
    segmentId,
    state,
    segmentBytes: SEGMENT_BYTES,
    byteLength: ends[1]!,
    checksum: 1,
  };
  const view = (from: number, to: number): Uint8Array => bytes.subarray(from, to);
  return new Replica(record as never, { view } as never);
}

it('each thread scans and divides a replica, closed ones first, and what comes of it does not matter', async () => {
  const jobs: ScanJob[] = [];
  const divided: unknown[] = [];
  const scanner = {
    scan: async (job: ScanJob) => {
      jobs.push(job);
      if (job.identity.segmentId === 9n) throw new Error('it was freed');
      const answer = await scan(job);
      divided.push(answer.partBytes);
      return answer;
    },
    close: async () => {},
  };
  const rehearsed = new ReplicaScanner({ pathOf: () => '' }, scanner);
  await rehearsed.rehearse([], DIVIDER);
  const open = Array.from({ length: SCAN_THREADS }, () => replica(IDENTITY.segmentId, 'open'));
  await rehearsed.rehearse([...open, replica(9n, 'closed')], DIVIDER);
  expect(jobs.filter(({ identity }) => identity.segmentId === 9n)).toHaveLength(REHEARSALS);
  expect(jobs).toHaveLength(REHEARSALS * SCAN_THREADS);
  const objects = ends[1]! - 2 * 16;
  expect(divided).toEqual(Array.from({ length: REHEARSALS * (SCAN_THREADS - 1) }, () => [objects]));
});

it('a service has them do so when a member is lost', () => {
  let lose: (failure: { member: number }) => void = () => {};
  const none = { close: () => {} };
  const onFailure = (listener: typeof lose) => {
    lose = listener;
    return none;
  };
  const mesh = { id: 1, onRequest: () => none, onFailure, onLeave: () => none, members: [] };
  const rehearseScans = vi.fn(() => new Promise<void>(() => {}));
  const backup = { onRevoke: () => {}, logIds: [], fencedLogs: [], rehearseScans };
  const parts = { mesh, plane: {}, link: {}, logger: undefined, open: new Set() };
  BackupService.serve(parts as never, backup as never, { divider: new URL(DIVIDER) });
  lose({ member: 2 });
  expect(rehearseScans.mock.calls).toEqual([[DIVIDER]]);
});
