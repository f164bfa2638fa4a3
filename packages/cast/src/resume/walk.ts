import { type BigIntStats, lstatSync, readdirSync } from 'node:fs';

/** Visits everything in an open directory, until `visit` returns false. What cannot be read is left out. */
export function walk(directory: number, visit: (stats: BigIntStats) => boolean): void {
  const head = `/proc/self/fd/${directory}/`;
  const pending: Buffer[] = [Buffer.from(head)];
  for (let path = pending.pop(); path; path = pending.pop()) {
    try {
      for (const name of readdirSync(path, 'buffer')) {
        const place = Buffer.concat([path, name]);
        const stats = lstatSync(place, { bigint: true });
        if (!visit(stats)) return;
        if (stats.isDirectory()) pending.push(Buffer.concat([place, Buffer.from('/')]));
      }
    } catch {
      // It is gone, or its path is too long.
    }
  }
}
