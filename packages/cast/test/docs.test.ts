import { readdirSync, readFileSync } from 'node:fs';
import { castErrors } from '@rdmc/cast';
import { expectExample } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

const root = new URL('..', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

describe('README', () => {
  const readme = read('README.md');

  it('shows the example that is in example.mjs, and what it prints', () => expectExample(root));

  it('lists every error code, and no other', () => {
    const declared = new Set(Object.keys(castErrors));
    const listed = new Set(
      [...readme.matchAll(/^\| (`ERR_RDMC.*?) \|/gm)].flatMap(
        ([, cell]) => cell!.match(/ERR_RDMC_[A-Z_]+/g)!,
      ),
    );
    expect(declared.size).toBeGreaterThan(30);
    expect([...listed].sort()).toEqual([...declared].sort());
  });

  it('every code that is declared is used', () => {
    const files = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' });
    const sources = files
      .filter((file) => file.endsWith('.ts') && file !== 'errors.ts')
      .map((file) => read(`src/${file}`));
    const declared = new Set(Object.keys(castErrors));
    expect([...declared].filter((code) => !sources.some((source) => source.includes(`'${code}'`)))).toEqual([
      // Made by helpers of errors.ts.
      'ERR_RDMC_INVALID_OPTION',
      // Made by the common checks of options.
      'ERR_RDMC_UNKNOWN_OPTION',
    ]);
  });
});
