import { refusal, thrown } from '@rdmc/testing';
import { expect, it } from 'vitest';
import type { Division } from '../src/recovery/division.js';
import { PullMachine } from '../src/recovery/pull-machine.js';
import { hasPrefix, RecoveryAttempts } from '../src/recovery/recovery-attempts.js';

const LOG = 5n;
const NOT_OWNER = refusal('ERR_RDMC_NOT_OWNER');

function segment(segmentId: bigint, ...sources: number[]) {
  return { segmentId, byteLength: 100, checksum: 7, sources };
}

const DIVISION: Division = {
  logId: LOG,
  attempt: 3,
  segments: [segment(1n, 1, 2), segment(2n, 1, 2), segment(3n, 1), segment(4n, 2, 1)],
};

it('a backup takes part in the last attempt only, whatever comes late', () => {
  const attempts = new RecoveryAttempts();
  const told = { heirs: [8, 9], segments: new Map([[1n, { byteLength: 100, checksum: 7 }]]) };
  attempts.begin(LOG, 8, 2);
  attempts.divide(LOG, 8, 2, told);
  expect(attempts.admit(LOG, 9, 2, 1n)).toMatchObject({ part: 1, prefix: { byteLength: 100 } });
  expect(thrown(() => attempts.admit(LOG, 9, 2, 2n))).toEqual(refusal('ERR_RDMC_REPLICA_UNKNOWN'));
  attempts.begin(LOG, 9, 3);
  for (const late of [
    () => attempts.begin(LOG, 8, 2),
    () => attempts.begin(LOG, 8, 3),
    () => attempts.divide(LOG, 8, 2, told),
    () => attempts.divide(LOG, 9, 2, told),
    () => attempts.admit(LOG, 9, 2, 1n),
    // Not told yet.
    () => attempts.admit(LOG, 9, 3, 1n),
    () => attempts.requireLeader(LOG, 8),
    () => attempts.requireReader(LOG, 8),
  ]) {
    expect(thrown(late)).toEqual(NOT_OWNER);
  }
  // The answer was lost.
  attempts.begin(LOG, 9, 3);
  attempts.divide(LOG, 9, 3, { ...told, heirs: [8] });
  attempts.requireReader(LOG, 8);
  expect(attempts.admit(LOG, 8, 3, 1n).part).toBe(0);
  expect(thrown(() => attempts.admit(LOG, 9, 3, 1n))).toEqual(NOT_OWNER);
  expect(thrown(() => attempts.admit(LOG, 8, 2, 1n))).toEqual(NOT_OWNER);
  attempts.forget(LOG);
  expect(thrown(() => attempts.admit(LOG, 8, 3, 1n))).toEqual(NOT_OWNER);
});

it('an heir asks each backup for a few segments at a time, the next backup where one fails, and is complete with all', () => {
  const machine = new PullMachine(DIVISION, 2);
  expect(machine.next()).toEqual([
    { segmentId: 1n, source: 1 },
    { segmentId: 2n, source: 1 },
    { segmentId: 4n, source: 2 },
  ]);
  expect(machine.next()).toEqual([]);
  expect([machine.arrived(2, 1n), machine.arrived(3, 1n), machine.arrived(3, 1n)]).toEqual([
    false,
    true,
    false,
  ]);
  expect(machine.next()).toEqual([{ segmentId: 3n, source: 1 }]);
  machine.failed({ segmentId: 2n, source: 1 }, 'lost');
  // Late, of the source that failed before.
  expect(machine.next()).toEqual([{ segmentId: 2n, source: 2 }]);
  machine.failed({ segmentId: 2n, source: 1 }, 'lost');
  for (const id of [2n, 3n]) machine.arrived(3, id);
  expect(machine.isComplete).toBe(false);
  machine.arrived(3, 4n);
  expect(machine.isComplete).toBe(true);
});

it('a segment that no backup serves ends the pull, with all reasons', () => {
  const machine = new PullMachine({ ...DIVISION, segments: [segment(1n, 1, 2)] }, 2);
  for (const source of [1, 2]) {
    machine.next();
    machine.failed({ segmentId: 1n, source }, `reason ${source}`);
  }
  const error = thrown(() => machine.next());
  expect(error).toEqual(refusal('ERR_RDMC_LOG_INCOMPLETE'));
  expect(error).toMatchObject({ missing: [1n] });
  expect(String(error)).toContain('member 1: reason 1; member 2: reason 2');
});

it('a replica counts with exactly the planned prefix, or as much of it after an accepted loss', () => {
  const scan = { status: 'ok', offset: 100, checksum: 7 } as const;
  const planned = { byteLength: 100, checksum: 7 };
  expect(hasPrefix(planned, scan)).toBe(true);
  for (const other of [{ offset: 116 }, { offset: 84 }, { checksum: 8 }, { status: 'corrupt' } as const]) {
    expect(hasPrefix(planned, { ...scan, ...other })).toBe(false);
  }
  const accepted = { byteLength: 100, checksum: null };
  expect(hasPrefix(accepted, { ...scan, status: 'corrupt', offset: 116 })).toBe(true);
  expect(hasPrefix(accepted, { ...scan, offset: 84 })).toBe(false);
});
