import { readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory, thrown } from '@rdmc/testing';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import { IndexWriter } from '../src/memory/shared/index-writer.js';
import { RECORD_HEADER_BYTES, RECORDS_AT } from '../src/memory/shared/layout.js';

// Other files have loaded these modules, and will use them again, without the mock.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const short = (file: number, bytes: Uint8Array, from: number, length: number, at: number): number =>
    fs.writeSync(file, bytes, from, Math.min(length, 5), at);
  return { ...fs, writeSync: vi.fn(short) };
});

const record = { type: 'file', path: 'a/b', segment: 'name.rdmc-cast-0', size: 3, ranges: [] } as const;

it('a record that the system writes in parts is whole', () => {
  const directory = temporaryDirectory();
  const [temporary, path] = [join(directory, 'new'), join(directory, 'index')];
  const index = new IndexWriter(temporary, path);
  onTestFinished(() => index.close());
  index.add(record);
  const bytes = readFileSync(path).subarray(RECORDS_AT);
  const json = bytes.subarray(RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + bytes.readUInt32LE(4));
  expect(bytes.readUInt32LE()).toBe(1);
  expect(JSON.parse(json.toString())).toEqual(record);
});

it('an index that cannot be made leaves nothing', () => {
  const directory = temporaryDirectory();
  vi.mocked(writeSync).mockImplementationOnce(() => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  });
  expect(thrown(() => new IndexWriter(join(directory, 'new'), join(directory, 'index')))).toMatchObject({
    code: 'ENOSPC',
  });
  expect(readdirSync(directory)).toEqual([]);
});
