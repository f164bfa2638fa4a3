import { cpSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory, thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { CastTree } from '../src/pull/cast-tree.js';
import type { Root } from '../src/reader/entries.js';
import { resolveRoots } from '../src/reader/roots.js';
import { StreamReader } from '../src/reader/stream-reader.js';
import { Survey } from '../src/reader/survey.js';
import { allMessages, CHECKSUM, store } from './support/local-cast.js';
import { expectSameTree, write } from './support/tree.js';

const SECRET = 'what only the sender may read';
const OWN = 'what somebody may write there';

/** A tree to cast, and a directory outside of it with a file of the same name. */
function places() {
  const [from, outside] = [temporaryDirectory(), temporaryDirectory()];
  const root = join(from, 'root');
  write(from, 'root/d/e/file', OWN);
  write(outside, 'e/file', SECRET);
  /** A user who may write in the tree does that while the cast runs. */
  const replace = (): void => {
    renameSync(join(root, 'd'), join(from, 'moved'));
    symlinkSync(outside, join(root, 'd'));
  };
  return { from, root, outside, replace, roots: resolveRoots([Buffer.from(root)]) };
}

/** Directories do not stay open, as where there are many. */
function forget(roots: readonly Root[]): void {
  for (const { tree } of roots) tree.close();
}

describe('where a directory of the source becomes a symbolic link, nothing outside is sent', () => {
  it.each([
    ['it is sent as it was where it is still open', false],
    ['its files are problems where it is opened again', true],
  ])('after it was listed: %s', (_, isForgotten) => {
    const { roots, replace } = places();
    const { entries } = new Survey(roots);
    replace();
    if (isForgotten) forget(roots);
    const reader = new StreamReader(entries, CHECKSUM);
    const messages = Buffer.concat(allMessages(reader));
    expect(messages.includes(SECRET)).toBe(false);
    expect(messages.includes(OWN)).toBe(!isForgotten);
    const problem = { path: 'root/d/e/file', code: 'ERR_RDMC_FILE_CHANGED' };
    expect(reader.problems.kept).toMatchObject(isForgotten ? [problem] : []);
  });

  it('while it is listed', () => {
    const { roots, replace } = places();
    const survey = new Survey(roots, { lazy: true });
    // The root, and the directory with the names in it.
    survey.advance(2);
    replace();
    forget(roots);
    survey.advance(Number.POSITIVE_INFINITY);
    expect(survey.entries.map(({ path }) => path.toString())).toEqual(['root', 'root/d']);
    expect(survey.totals.problems).toMatchObject([{ path: 'root/d/e', code: 'ERR_RDMC_FILE_CHANGED' }]);
  });

  it('by a gathering cast', () => {
    const { root, replace } = places();
    const tree = new CastTree({ paths: [Buffer.from(root)], rules: [], listed: undefined });
    const { source } = tree.list().entries.find(({ kind }) => kind === 'file')!;
    tree.open(source).close();
    tree.close();
    replace();
    expect(thrown(() => tree.open(source))).toMatchObject({ code: 'ERR_RDMC_FILE_CHANGED' });
    tree.close();
  });
});

describe('a directory of the source', () => {
  it('that is replaced by another one is sent as it is then', () => {
    const { from, root, roots } = places();
    const { entries } = new Survey(roots);
    const moved = join(from, 'moved');
    cpSync(join(root, 'd'), moved, { recursive: true, preserveTimestamps: true });
    rmSync(join(root, 'd'), { recursive: true });
    renameSync(moved, join(root, 'd'));
    const to = temporaryDirectory();
    expect(store(allMessages(new StreamReader(entries, CHECKSUM)), to).problems).toEqual([]);
    expectSameTree(join(to, 'root/d/e'), join(root, 'd/e'));
  });

  it('that is gone makes its files problems, which have the names that the user knows', () => {
    const { root, roots } = places();
    const { entries } = new Survey(roots);
    rmSync(join(root, 'd/e/file'));
    const reader = new StreamReader(entries, CHECKSUM);
    allMessages(reader);
    const [problem] = reader.problems.kept;
    expect(problem).toMatchObject({ path: 'root/d/e/file', code: 'ERR_RDMC_FILE_CHANGED' });
    expect(problem!.message).toContain(`'${join(root, 'd/e/file')}'`);
  });
});
