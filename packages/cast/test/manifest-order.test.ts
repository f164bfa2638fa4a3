import { thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import type { ManifestEntry } from '../src/manifest/manifest-entry.js';
import { ManifestOrder } from '../src/manifest/manifest-order.js';

/** Adds entries; directories end with a slash. */
function add(order: ManifestOrder, ...names: string[]): void {
  for (const name of names) {
    const kind = name.endsWith('/') ? 'directory' : 'file';
    order.add({ kind, path: Buffer.from(name.replace(/\/$/, '')) } as ManifestEntry);
  }
}

describe('the order of a manifest', () => {
  it('is that of a sender: directories before their entries, names sorted by bytes, paths in any order', () => {
    const order = new ManifestOrder();
    add(order, 'b/', 'b/a/', 'b/a/x', 'b/a.b', 'b/c/', 'b/c/d/', 'b/c/d/e', 'b/z', 'a', 'c/', 'c/a', 'b.c');
  });

  it.each([
    ['a file that comes twice', ['a/', 'a/b', 'a/b']],
    ['a directory that comes twice', ['a/', 'a/b/', 'a/b/']],
    ['a path that comes twice', ['a/', 'b', 'a/']],
    ['a directory that is entered again', ['a/', 'a/b/', 'a/c/', 'a/b/x']],
    ['names that are not sorted', ['a/', 'a/c', 'a/b']],
    ['an entry without its directory', ['a/', 'b/c']],
    ['an entry in a file', ['a/', 'a/b', 'a/b/c']],
    ['an entry far below', ['a/', 'a/b/c']],
  ])('%s is refused', (_what, names) => {
    const error = thrown(() => add(new ManifestOrder(), ...names));
    expect(error).toMatchObject({ code: 'ERR_RDMC_CAST_PROTOCOL' });
  });
});
