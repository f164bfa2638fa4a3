import { openSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DELTA_FILE_BYTES } from '../src/constants.js';
import { decodeJournal } from '../src/resume/journal.js';
import { journalName, partName } from '../src/resume/names.js';
import { SinkTargets } from '../src/resume/sink-target.js';
import { FileModes } from '../src/writer/file-modes.js';
import { FileSink } from '../src/writer/file-sink.js';
import { CHECKSUM } from './support/local-cast.js';
import { seededBytes } from './support/tree.js';
import { time } from './support/writer-records.js';

const PIECE = 4096;

/**
 * A disk that loses what was not synced. A file keeps the bytes that it had when its last sync began. Later writes may be
 * on the disk, or not, or be anything.
 */
class ForgetfulDisk {
  readonly #synced = new Map<string, Buffer>();
  readonly #pending: (() => void)[] = [];

  sync = (descriptor: number): Promise<void> => {
    const path = readlinkSync(`/proc/self/fd/${descriptor}`);
    let bytes: Buffer | undefined;
    try {
      bytes = readFileSync(path);
    } catch {
      // A directory.
    }
    return new Promise((resolve) =>
      this.#pending.push(() => {
        if (bytes) this.#synced.set(path, bytes);
        resolve();
      }),
    );
  };

  /** The oldest sync ends. */
  async step(): Promise<void> {
    this.#pending.shift()?.();
    await new Promise(setImmediate);
  }

  async drain(): Promise<void> {
    while (this.#pending.length > 0) await this.step();
  }

  /** What was synced of a file. */
  synced(path: string): Buffer {
    return this.#synced.get(path) ?? Buffer.alloc(0);
  }
}

/** A partial file, and what a loss of power leaves of it. */
class PartialFile {
  readonly disk = new ForgetfulDisk();
  readonly contents = seededBytes(DELTA_FILE_BYTES, 3);
  readonly #directory = temporaryDirectory();
  readonly #begin = {
    type: 'fileBegin' as const,
    index: 0,
    mode: 0o644,
    time,
    size: DELTA_FILE_BYTES,
    path: Buffer.from('file'),
  };
  readonly #sink: FileSink;
  #written = 0;

  constructor() {
    const descriptor = openSync(this.#directory, 'r');
    const file = (index: number): Buffer => Buffer.from(join(this.#directory, String(index)));
    const keeping = { authenticated: true, durable: true, root: descriptor };
    const target = new SinkTargets({ descriptor, file }, keeping).open(this.#begin, undefined);
    this.#sink = new FileSink(this.#begin, target, CHECKSUM, new FileModes(), () => {});
  }

  write(): void {
    this.#sink.write(this.contents.subarray(this.#written, this.#written + PIECE));
    this.#written += PIECE;
  }

  startSync(): void {
    if (!this.#sink.isSyncing) void this.#sink.startSync(this.disk.sync);
  }

  /** The cast is interrupted, and its end as well, after so many syncs. */
  async settle(syncs: number): Promise<void> {
    await this.disk.drain();
    const settled = this.#sink.settle(this.disk.sync);
    for (let done = 0; done < syncs; done += 1) await this.disk.step();
    settled.catch(() => {});
  }

  async end(): Promise<void> {
    await this.disk.drain();
    this.#sink.release();
  }

  /** Ranges that the journal claims after a loss of power, and whether all of them are on the disk. */
  afterPowerCut(arrived: number) {
    const { path } = this.#begin;
    const journalPath = join(this.#directory, journalName(path));
    const [now, synced] = [readFileSync(journalPath), this.disk.synced(journalPath).length];
    const part = this.disk.synced(join(this.#directory, partName(path)));
    // Of the journal, more may have reached the disk than was synced.
    const journal = decodeJournal(now.subarray(0, synced + Math.round((now.length - synced) * arrived)));
    const ranges = journal?.ranges ?? [];
    const areOnDisk = ranges.every(
      ({ start, end }) =>
        end <= part.length && part.subarray(start, end).equals(this.contents.subarray(start, end)),
    );
    return { ranges, areOnDisk, isClosed: journal?.closed !== undefined };
  }
}

const someSteps = fc.array(fc.constantFrom('write', 'sync', 'disk'), { maxLength: 40 });

describe('after a power cut', () => {
  it('a journal claims no range that is not on the disk, whatever else reached it', async () => {
    const what = { claimed: 0 };
    await fc.assert(
      fc.asyncProperty(
        someSteps,
        fc.option(fc.nat(4)),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (steps, settledSyncs, arrived) => {
          const file = new PartialFile();
          for (const step of steps) {
            if (step === 'write') file.write();
            else if (step === 'sync') file.startSync();
            else await file.disk.step();
          }
          if (settledSyncs !== null) await file.settle(settledSyncs);
          const { ranges, areOnDisk } = file.afterPowerCut(arrived);
          await file.end();
          expect(areOnDisk).toBe(true);
          what.claimed += ranges.length;
        },
      ),
      // The example: a sync that has not ended, and all of the journal is on the disk.
      { numRuns: 60, examples: [[['write', 'sync'], null, 1]] },
    );
    expect(what.claimed).toBeGreaterThan(0);
  });

  it('what an interrupted cast has put away counts as a whole', async () => {
    const file = new PartialFile();
    for (let piece = 0; piece < 5; piece += 1) file.write();
    await file.settle(10);
    expect(file.afterPowerCut(0)).toEqual({
      ranges: [{ start: 0, end: 5 * PIECE }],
      areOnDisk: true,
      isClosed: true,
    });
    await file.end();
  });
});
