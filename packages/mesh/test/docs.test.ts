import { readdirSync, readFileSync } from 'node:fs';
import { expectExample } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

const root = new URL('..', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

describe('README', () => {
  const readme = read('README.md');

  it('shows the example that is in example.mjs, and what it prints', () => expectExample(root));

  it('lists every error code of the source', () => {
    const source = readdirSync(new URL('src', root))
      .map((file) => read(`src/${file}`))
      .join('\n');
    const codes = new Set(source.match(/ERR_RDMC_MESH_[A-Z]+(?:_[A-Z]+)*/g));
    const listed = readme.replaceAll('`...', '`ERR_RDMC_MESH');
    expect(codes.size).toBeGreaterThan(25);
    expect([...codes].filter((code) => !listed.includes(`\`${code}\``))).toEqual([]);
  });
});
