import { fileDigest } from '../../src/checksum.js';
import type { StreamRecord } from '../../src/stream/records.js';
import { CHECKSUM } from './local-cast.js';
import { encode } from './records.js';

export const time = { seconds: 1_000_000_000, nanoseconds: 0 };

export function directory(index: number, path: string, mode = 0o755): StreamRecord {
  return { type: 'directory', index, mode, time, path: Buffer.from(path) };
}

export function file(index: number, path: string, contents: string | Buffer = 'text'): StreamRecord[] {
  const data = Buffer.from(contents);
  const sum = fileDigest(CHECKSUM, index);
  sum.update(data);
  const digest = sum.digest();
  return [
    { type: 'fileBegin', index, mode: 0o644, time, size: data.length, path: Buffer.from(path) },
    ...(data.length > 0 ? [{ type: 'data' as const, index, offset: 0, data }] : []),
    { type: 'fileEnd', index, status: 0, digest },
  ];
}

export function link(index: number, path: string, target: string): StreamRecord {
  return { type: 'symbolicLink', index, time, path: Buffer.from(path), target: Buffer.from(target) };
}

export function hardLink(index: number, targetIndex: number, path: string, targetPath: string): StreamRecord {
  return {
    type: 'hardLink',
    index,
    targetIndex,
    path: Buffer.from(path),
    targetPath: Buffer.from(targetPath),
  };
}

/** One message with these records and their totals. */
export function whole(...records: StreamRecord[]): Buffer {
  const count = (type: StreamRecord['type']): number => records.filter((each) => each.type === type).length;
  const end: StreamRecord = {
    type: 'streamEnd',
    files: count('fileBegin'),
    directories: count('directory'),
    symbolicLinks: count('symbolicLink'),
    hardLinks: count('hardLink'),
    bytes: 0,
  };
  return Buffer.from(encode([...records, end], 0));
}
