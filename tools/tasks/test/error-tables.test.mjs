import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { documentOf } from '../docs-errors.mjs';
import { allErrors } from '../error-tables.mjs';
import { root } from '../setup.mjs';

const errors = await allErrors();
const CATEGORIES = ['usage', 'peer-lost', 'timeout', 'refused', 'resource', 'closed', 'aborted', 'internal'];

/** The codes in quotes in a folder's sources; with their places, for the message. */
function codesIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'),
    )
    .filter(({ parentPath }) => /\/src(\/|$)/.test(parentPath))
    .flatMap(({ parentPath, name }) => {
      const text = readFileSync(join(parentPath, name), 'utf8');
      return [...text.matchAll(/'(ERR_RDMC_[A-Z0-9_]+)'/g)].map(([, code]) => ({ code, file: name }));
    });
}

describe('the tables of errors', () => {
  it('have every code that the sources of packages, apps and tools name', () => {
    const known = new Set(errors.map(({ code }) => code));
    const named = ['packages', 'apps', 'tools/netlab', 'tools/roce-vm'].flatMap(codesIn);
    expect(named.length).toBeGreaterThan(300);
    expect(named.filter(({ code }) => !known.has(code) && !code.endsWith('_'))).toEqual([]);
  });

  it('give a code the same category in all packages', () => {
    const categories = new Map();
    for (const { code, category } of errors) {
      categories.set(code, (categories.get(code) ?? new Set()).add(category));
    }
    expect([...categories].filter(([, found]) => found.size > 1)).toEqual([]);
  });

  it('have for each code a known category, a meaning, and advice, in a few words', () => {
    for (const { code, category, meaning, advice } of errors) {
      expect(code).toMatch(/^ERR_RDMC_[A-Z0-9_]+$/);
      expect(CATEGORIES).toContain(category);
      for (const text of [meaning, advice]) {
        expect(text).not.toBe('');
        expect(text.length, `${code}: ${text}`).toBeLessThanOrEqual(80);
      }
    }
  });
});

describe('docs/errors.md', () => {
  it('is up to date with the tables: npm run docs:errors', () => {
    expect(readFileSync(join(root, 'docs', 'errors.md'), 'utf8') === documentOf(errors)).toBe(true);
  });
});
