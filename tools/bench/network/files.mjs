// Files and folders to send, and whether they arrived.
import { createHash, randomFillSync } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { MIB } from './tools.mjs';

/** A file of bytes that no compression shortens. */
export function makeFile(path, bytes) {
  const file = openSync(path, 'w');
  const buffer = Buffer.allocUnsafe(MIB);
  for (let left = bytes; left > 0; left -= buffer.length) {
    randomFillSync(buffer);
    writeSync(file, buffer, 0, Math.min(left, buffer.length));
  }
  closeSync(file);
}

/** `count` small files, 0 to 8 KiB each, a hundred to a folder; returns their bytes. */
export function makeTree(path, count) {
  let bytes = 0;
  for (let index = 0; index < count; index += 1) {
    const folder = join(path, `folder ${Math.floor(index / 100)}`);
    if (index % 100 === 0) mkdirSync(folder, { recursive: true });
    const content = Buffer.alloc((index * 2654435761) % 8192, `${index} `);
    writeFileSync(join(folder, `file ${index}`), content);
    bytes += content.length;
  }
  return bytes;
}

/** Whether two files have the same bytes. */
export function sameFile(a, b) {
  const files = [a, b].map((path) => openSync(path, 'r'));
  const buffers = files.map(() => Buffer.allocUnsafe(8 * MIB));
  try {
    for (;;) {
      const [left, right] = files.map((file, index) =>
        buffers[index].subarray(0, readSync(file, buffers[index])),
      );
      if (!left.equals(right)) return false;
      if (left.length === 0) return true;
    }
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** Names, sizes and contents of a folder as one hash. */
export function digestTree(path) {
  const hash = createHash('sha256');
  const walk = (folder, name) => {
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      const inner = join(folder, entry.name);
      hash.update(`${name}/${entry.name}\0`);
      if (entry.isDirectory()) walk(inner, `${name}/${entry.name}`);
      else hash.update(`${statSync(inner).size}\0`).update(readFileSync(inner));
    }
  };
  walk(path, '');
  return hash.digest('hex');
}
