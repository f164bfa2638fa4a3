import { readdirSync, readFileSync } from 'node:fs';
import { expectPrinted, expectShown } from '@rdmc/testing';
import { expect, test } from 'vitest';
import { labTest } from './needs.js';

const root = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

test('the README shows the example as it is', () => expectShown(root));

labTest('the example prints what the README says', () => expectPrinted(root));

test('the README lists every error code of the source', () => {
  const files = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' });
  const source = files.filter((file) => file.endsWith('.ts')).map((file) => read(`src/${file}`));
  const codes = new Set(source.join('\n').match(/ERR_RDMC_NETLAB_[A-Z]+(?:_[A-Z]+)*/g));
  expect(codes.size).toBeGreaterThan(8);
  expect([...codes].filter((code) => !read('README.md').includes(`\`${code}\``))).toEqual([]);
});
