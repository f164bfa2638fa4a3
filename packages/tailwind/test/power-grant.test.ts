import { refusal, temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { grantedBuffers, measuredGrant } from '../src/backup/disk-grant.js';
import { diskOf, FlushSpeed, type MeasuredDisk, measureDisk } from '../src/backup/disk-speed.js';
import { PowerGrant } from '../src/backup/power-grant.js';
import { filesIn, opening, startBackup } from './support/backups.js';

const MIB = 1024 * 1024;
const SEGMENT = 8 * MIB;

/** A disk whose streams share its speed, on a clock of its own. */
class FakeDisk implements MeasuredDisk {
  #now = 0;
  open = 0;
  /** The most streams at once. */
  streams = 0;

  /** @param speed bytes per second, with so many streams */
  constructor(private readonly speed: (streams: number) => number) {}

  now(): number {
    return this.#now;
  }

  async create() {
    this.open += 1;
    this.streams = Math.max(this.streams, this.open);
    let unsynced = 0;
    return {
      write: async (bytes: Uint8Array) => {
        unsynced += bytes.length;
      },
      sync: async () => {
        this.#now += (unsynced / this.speed(this.open)) * 1000;
        unsynced = 0;
      },
      remove: async () => {
        this.open -= 1;
      },
    };
  }
}

describe('the grant of a speed', () => {
  it.each([
    ['100 MiB/s, 2 s', 100 * MIB, 2, 24, 24],
    ['100 MiB/s, 1 s', 100 * MIB, 1, 24, 12],
    ['7 MiB/s, 1 s: not even one buffer', 7 * MIB, 1, 24, 0],
    ['exactly one', 8 * MIB, 1, 24, 1],
  ])('%s', (_name, bytesPerSecond, holdSeconds, buffers, granted) => {
    expect(grantedBuffers({ bytesPerSecond, holdSeconds, segmentBytes: SEGMENT, buffers })).toBe(granted);
  });

  it('can be written in time, and one more could not, or is not configured', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 34 }),
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 1, max: 4096 }),
        fc.integer({ min: 4096, max: 2 ** 30 }),
        (bytesPerSecond, holdSeconds, buffers, segmentBytes) => {
          const granted = grantedBuffers({ bytesPerSecond, holdSeconds, buffers, segmentBytes });
          expect(granted * segmentBytes).toBeLessThanOrEqual(bytesPerSecond * holdSeconds);
          expect(granted).toBeLessThanOrEqual(buffers);
          if (granted < buffers)
            expect((granted + 1) * segmentBytes).toBeGreaterThan(bytesPerSecond * holdSeconds);
        },
      ),
    );
  });
});

describe('a disk that is measured', () => {
  it.each([1, 24])('has the speed of %i streams together', async (streams) => {
    const disk = new FakeDisk((all) => (all === 1 ? 40 : 160) * MIB);
    expect(await measureDisk(disk, streams, SEGMENT)).toBeCloseTo((streams === 1 ? 40 : 160) * MIB, -1);
    expect([disk.streams, disk.open]).toEqual([streams, 0]);
  });

  it('grants what as many streams can write at once, where fewer are slower', async () => {
    const disk = new FakeDisk((streams) => (20 + streams) * MIB);
    const measured: number[] = [];
    const measure = (streams: number): Promise<number> => {
      measured.push(streams);
      return measureDisk(disk, streams, SEGMENT);
    };
    // 24 streams: 44 MiB/s, so 11 buffers; 11 streams: 31 MiB/s, and so on.
    const facts = { holdSeconds: 2.01, segmentBytes: SEGMENT, buffers: 24 };
    const { granted, bytesPerSecond } = await measuredGrant(measure, facts);
    expect([granted, measured]).toEqual([6, [24, 11, 7, 6]]);
    expect(bytesPerSecond).toBeCloseTo(26 * MIB, -1);
  });

  it('leaves no file, also in a directory that exists', async () => {
    const directory = temporaryDirectory();
    expect(await measureDisk(diskOf(directory), 2, 4096)).toBeGreaterThan(0);
    expect(filesIn(directory)).toEqual([]);
  });
});

describe('flushes', () => {
  it('have the speed of the last ones, without small ones', () => {
    const speed = new FlushSpeed();
    for (let i = 0; i < 3; i += 1) speed.record(SEGMENT, 100);
    speed.record(1000, 100_000);
    expect(speed.bytesPerSecond).toBeUndefined();
    speed.record(SEGMENT, 100);
    expect(speed.bytesPerSecond).toBe(80 * MIB);
    for (let i = 0; i < 16; i += 1) speed.record(SEGMENT, 1000);
    expect(speed.bytesPerSecond).toBe(8 * MIB);
  });

  it('lower the grant where they are slower than the measurement, and do not raise it where they are faster', async () => {
    const grants: number[] = [];
    const facts = { holdSeconds: 2, segmentBytes: SEGMENT, buffers: 24 };
    const power = await PowerGrant.measure(new FakeDisk(() => 80 * MIB), facts, undefined);
    power.apply({
      grant: async (limit) => {
        grants.push(limit);
      },
    });
    expect(power.granted).toBe(20);
    for (let i = 0; i < 16; i += 1) power.flushed(SEGMENT, 1);
    expect([power.granted, grants]).toEqual([20, []]);
    for (let i = 0; i < 16; i += 1) power.flushed(SEGMENT, 400);
    expect([power.granted, grants.at(-1)]).toEqual([5, 5]);
    expect(power.report()).toEqual({
      bytesPerSecond: 80 * MIB,
      flushedBytesPerSecond: 20 * MIB,
      holdSeconds: 2,
      granted: 5,
      configured: 24,
    });
    for (let i = 0; i < 16; i += 1) power.flushed(SEGMENT, 100);
    expect([power.granted, grants.at(-1)]).toEqual([20, 20]);
  });
});

describe('a backup', () => {
  it('grants no buffer where its disk is too slow for one, and says so', async () => {
    const { backup } = await startBackup({ powerHoldSeconds: 1e-9 });
    expect(backup.buffers).toEqual({ free: 0, used: 0, limit: 0 });
    expect(backup.disk).toMatchObject({ granted: 0, configured: 2 });
    const refused = await backup.openReplica(opening()).catch((error: Error & { code: string }) => error);
    expect(refused).toMatchObject({
      code: 'ERR_RDMC_BACKUP_FULL',
      message: expect.stringContaining('too slow'),
    });
  });

  it('grants the configured buffers where its disk is fast enough, and measures nothing where that is not asked for', async () => {
    const { backup, directory } = await startBackup({ powerHoldSeconds: 3600 });
    expect(backup.buffers.limit).toBe(2);
    expect(filesIn(directory)).toEqual([]);
    expect((await startBackup()).backup.disk).toBeUndefined();
    for (const powerHoldSeconds of [0, -1, 3601, Number.NaN])
      await expect(startBackup({ powerHoldSeconds })).rejects.toEqual(refusal('ERR_RDMC_INVALID_OPTION'));
  });
});
