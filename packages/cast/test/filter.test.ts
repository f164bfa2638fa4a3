import { describe, expect, it } from 'vitest';
import { Filter } from '../src/filters/filter.js';
import { Pattern } from '../src/filters/pattern.js';

/** A path that ends with a slash is a directory. */
function matches(pattern: string, path: string): boolean {
  const isDirectory = path.endsWith('/');
  const bytes = Buffer.from(isDirectory ? path.slice(0, -1) : path).toString('latin1');
  return new Pattern(pattern).matches(bytes, isDirectory);
}

describe('a pattern', () => {
  it.each([
    // Without a slash: the last component, in any directory.
    ['*.o', ['a.o', 'root/a.o', 'root/.o'], ['a.c', 'a.o/b', 'a.ob']],
    ['core', ['core', 'root/core', 'root/core/'], ['acore', 'core/a', 'cores']],
    ['a?c', ['abc', 'x/a.c'], ['ac', 'abbc', 'a/c']],
    // A slash at its beginning: from the root of the cast.
    ['/root/a', ['root/a', 'root/a/'], ['a', 'x/root/a', 'root/a/b']],
    ['/*', ['root', 'root/'], ['root/a']],
    // A slash within: the end of the path, at a component.
    ['a/b', ['a/b', 'x/a/b'], ['xa/b', 'a/b/c', 'a/xb']],
    ['*/b', ['a/b', 'x/a/b'], ['b']],
    // Two stars: also slashes.
    ['/root/**/z', ['root/a/z', 'root/a/b/z'], ['root/z', 'x/root/a/z']],
    ['a**z', ['az', 'a/b/z', 'x/a-z'], ['ba-y', 'xaz/']],
    ['**', ['a', 'a/b', 'a/b/'], []],
    // A slash at its end: only directories.
    ['build/', ['build/', 'root/build/'], ['build', 'build/a']],
    // Three stars: a directory and everything in it.
    ['build/***', ['build/', 'root/build/', 'build/a', 'root/build/a/b'], ['build', 'builds/a']],
    ['/root/x/***', ['root/x/', 'root/x/a'], ['a/root/x/a', 'root/x']],
    // Classes.
    ['[a-c]x', ['ax', 'cx'], ['dx', '-x']],
    ['[!a-c]x', ['dx'], ['ax', 'y/x']],
    ['[^a]', ['b'], ['a']],
    ['[]]', [']'], ['[', '\\]']],
    ['[a-]', ['a', '-'], ['b']],
    ['[[:digit:][:upper:]]*', ['1', 'Zz'], ['z']],
    ['a[/]b', [], ['a/b']],
    // A backslash escapes only in a pattern with wildcards.
    ['\\*x*', ['*x', '*xy'], ['ax', '\\*x']],
    ['a\\b', ['a\\b'], ['ab']],
    ['[\\]]', [']'], ['\\']],
    // Bytes, also of text that is not ASCII.
    ['ü*', ['übel'], ['u']],
  ])('%s', (pattern, matching, others) => {
    expect(matching.filter((path) => !matches(pattern, path))).toEqual([]);
    expect(others.filter((path) => matches(pattern, path))).toEqual([]);
  });

  it.each([
    '',
    '/',
    '/***',
    'a[',
    'a[b',
    '[]',
    '[!]',
    'x*\\',
    'a\0',
    '[z-a]',
    '[[:nothing:]]',
    '[[:digit]',
    'x'.repeat(5_000),
  ])('%j is malformed: refused', (pattern) => {
    expect(() => new Pattern(pattern)).toThrow(expect.objectContaining({ code: 'ERR_RDMC_INVALID_PATTERN' }));
  });

  it('with many stars: its matching does not go back', () => {
    const pattern = new Pattern(`${'*a'.repeat(500)}b`);
    expect(pattern.matches('a'.repeat(255), false)).toBe(false);
    expect(new Pattern(`${'**/'.repeat(500)}b`).matches('a/'.repeat(1_000), false)).toBe(false);
  });
});

describe('rules', () => {
  const filter = new Filter([
    { action: 'include', pattern: 'keep.o' },
    { action: 'exclude', pattern: '*.o' },
    { action: 'include', pattern: 'late.o' },
  ]);

  it('the first one that matches decides; without one, the entry takes part', () => {
    const excluded = ['root/keep.o', 'root/a.o', 'root/late.o', 'root/a.c'].map((path) =>
      filter.excludes(Buffer.from(path), false),
    );
    expect(excluded).toEqual([false, true, true, false]);
  });
});
