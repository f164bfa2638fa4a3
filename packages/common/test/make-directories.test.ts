import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { syncedDirectories, temporaryDirectory } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { makeDirectories, makeDurableDirectories } from '../src/index.js';

it('makes the directories that are missing, and says which was the first', async () => {
  const top = temporaryDirectory();
  const path = join(top, 'a', 'b', 'c');
  expect(await makeDirectories(path)).toBe(join(top, 'a'));
  expect(statSync(path).isDirectory()).toBe(true);
  expect(await makeDirectories(path)).toBe(undefined);
  expect(await makeDirectories(join(path, 'd'))).toBe(join(path, 'd'));
});

it('several at once make them once each', async () => {
  const path = join(temporaryDirectory(), 'a', 'b');
  await Promise.all([makeDirectories(path), makeDirectories(path), makeDirectories(path)]);
  expect(statSync(path).isDirectory()).toBe(true);
});

it('ends where a file is in the way, and where the system makes no directories', async () => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, '');
  symlinkSync(join(file, 'nowhere'), `${file}-link`);
  await expect(makeDirectories(file)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeDirectories(join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  await expect(makeDirectories(`${file}-link`)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeDirectories('/proc/a/b')).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(makeDirectories('')).rejects.toMatchObject({ code: 'ENOENT' });
});

it('durable ones have their names on the disk', async () => {
  const top = temporaryDirectory();
  const synced = await syncedDirectories();
  await makeDurableDirectories(join(top, 'a', 'b'));
  expect(synced).toEqual(new Set([top, join(top, 'a')]));
});
