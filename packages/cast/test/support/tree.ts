import { createHash } from 'node:crypto';
import {
  chmodSync,
  type Dirent,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fillFrom } from '@rdmc/testing';
import { expect } from 'vitest';

/** Bytes that depend on the seed alone. */
export function seededBytes(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  fillFrom(seed, bytes);
  return bytes;
}

export function write(
  directory: string,
  name: string,
  contents: string | Uint8Array = name,
  mode = 0o644,
): string {
  const path = join(directory, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, contents);
  chmodSync(path, mode);
  return path;
}

/** The same names, contents, modes, targets and links, and the same times: `fs` keeps microseconds of those. */
export function expectSameTree(found: string, expected: string): void {
  const times = { found: new Map<string, bigint>(), expected: new Map<string, bigint>() };
  const lines = describeTree(found, times.found);
  expect(lines).toEqual(describeTree(expected, times.expected));
  for (const [name, time] of times.expected) {
    const difference = Number(times.found.get(name)! - time);
    expect(Math.abs(difference), `nanoseconds between the times of ${name}`).toBeLessThan(1_000);
  }
}

/** One line of text for everything below a directory, without times. Names are kept byte by byte. */
export function describeTree(directory: string, times?: Map<string, bigint>): Map<string, string> {
  const root = Buffer.from(directory);
  const lines = new Map<string, string>();
  const inodes = new Map<bigint, string>();
  const visit = (path: Buffer, name: string): void => {
    const stats = lstatSync(path, { bigint: true });
    const mode = (Number(stats.mode) & 0o777).toString(8);
    if (name !== '') times?.set(name, stats.mtimeNs);
    if (stats.isSymbolicLink()) {
      lines.set(name, `link ${readlinkSync(path, 'latin1')}`);
    } else if (stats.isDirectory()) {
      if (name !== '') lines.set(name, `directory ${mode}`);
      const list = readdirSync as unknown as (path: Buffer, options: object) => Dirent<Buffer>[] | Buffer[];
      for (const child of (list(path, { encoding: 'buffer' }) as Buffer[]).sort(Buffer.compare)) {
        const childName = child.toString('latin1');
        visit(
          Buffer.concat([path, Buffer.from('/'), child]),
          name === '' ? childName : `${name}/${childName}`,
        );
      }
    } else {
      const first = inodes.get(stats.ino);
      if (stats.nlink > 1n && first === undefined) inodes.set(stats.ino, name);
      const hash = createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 16);
      lines.set(name, `file ${mode} ${stats.size} ${hash}${first ? ` = ${first}` : ''}`);
    }
  };
  visit(root, '');
  return lines;
}

/** Names below a directory, without types. */
export function namesIn(directory: string): string[] {
  return [...describeTree(directory).keys()];
}
