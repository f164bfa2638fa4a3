import { randomUUID } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { PieceEncoder } from '../src/manifest/piece-encoder.js';
import { StreamWriter } from '../src/writer/stream-writer.js';
import { CHECKSUM, store } from './support/local-cast.js';
import { asNobody, own } from './support/nobody.js';
import { policy } from './support/policy.js';
import { encode } from './support/records.js';
import { namesIn, write } from './support/tree.js';
import { directory, file, hardLink, link, time, whole } from './support/writer-records.js';

/** A receiving directory with one that has got a mode without write permission from an earlier cast. */
function readOnly(): string {
  const inside = own(temporaryDirectory());
  asNobody(() => {
    write(inside, 'd/old', 'old');
    chmodSync(join(inside, 'd'), 0o555);
  });
  return inside;
}

const modeOf = (...path: string[]): number => statSync(join(...path)).mode & 0o777;

describe('a directory of the receiver without write permission', () => {
  it('gets the entries of a later cast, of every kind, and its mode', () => {
    const inside = readOnly();
    const records = [
      ...[directory(0, 'd', 0o555), ...file(1, 'd/old', 'new'), ...file(2, 'd/more')],
      ...[hardLink(3, 1, 'd/hard', 'd/old'), link(4, 'd/soft', 'old')],
      ...[directory(5, 'd/sub', 0o500), ...file(6, 'd/sub/file')],
    ];
    expect(asNobody(() => store([whole(...records)], inside)).problems).toEqual([]);
    expect(namesIn(inside)).toEqual(['d', 'd/hard', 'd/more', 'd/old', 'd/soft', 'd/sub', 'd/sub/file']);
    expect(readFileSync(join(inside, 'd/old'), 'utf8')).toBe('new');
    expect([modeOf(inside, 'd'), modeOf(inside, 'd/sub')]).toEqual([0o555, 0o500]);
    expect(statSync(join(inside, 'd')).mtimeMs).toBe(time.seconds * 1000);
  });

  it('gets another mode where the sender has one', () => {
    const inside = readOnly();
    const records = [directory(0, 'd', 0o755), ...file(1, 'd/more')];
    expect(asNobody(() => store([whole(...records)], inside)).problems).toEqual([]);
    expect(modeOf(inside, 'd')).toBe(0o755);
  });

  it('keeps its mode where it is not itself an entry of the cast', () => {
    const inside = readOnly();
    expect(asNobody(() => store([whole(...file(0, 'd/more'))], inside)).problems).toEqual([]);
    expect(readdirSync(join(inside, 'd'))).toEqual(['more', 'old']);
    expect(modeOf(inside, 'd')).toBe(0o555);
  });

  it('has its mode again after a cast that ends early', () => {
    const inside = readOnly();
    asNobody(() => {
      const writer = new StreamWriter(inside, randomUUID(), CHECKSUM);
      writer.store(0, encode([directory(0, 'd', 0o700), ...file(1, 'd/more')], 0));
      expect(modeOf(inside, 'd')).toBe(0o755);
      writer.close();
    });
    expect(readdirSync(join(inside, 'd'))).toEqual(['more', 'old']);
    expect(modeOf(inside, 'd')).toBe(0o555);
  });

  it('loses its surplus entries, which may be such directories', () => {
    const inside = readOnly();
    const encoder = new PieceEncoder(0);
    const facts = { mode: 0o555, time, size: 0, targetIndex: 0, digest: undefined, target: Buffer.alloc(0) };
    encoder.add({ ...facts, kind: 'directory', path: Buffer.from('d') });
    const { count, data } = encoder.finish();
    const report = asNobody(() => {
      chmodSync(join(inside, 'd'), 0o755);
      write(inside, 'd/sub/file', 'surplus');
      for (const name of ['d/sub', 'd']) chmodSync(join(inside, name), 0o555);
      const writer = new StreamWriter(inside, randomUUID(), CHECKSUM, { policy });
      writer.examine(0, count, data);
      writer.surplus();
      return writer.finish(0, true);
    });
    expect(report).toMatchObject({ removed: 3, problemCount: 0 });
    expect(namesIn(inside)).toEqual(['d']);
    expect(modeOf(inside, 'd')).toBe(0o555);
  });
});
