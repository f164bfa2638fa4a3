import { readdirSync, readFileSync } from 'node:fs';
import { expectShown } from '@rdmc/testing';
import { expect, test } from 'vitest';
import { HELP } from '../src/cli/help.js';
import { PACKAGES } from '../src/constants.js';

const root = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

test('the README shows the example as it is', () => expectShown(root));

test('the README lists every error code of the source, and every package', () => {
  const codes = new Set(read('src/errors.ts').match(/ERR_RDMC_ROCE_VM_[A-Z]+(?:_[A-Z]+)*/g));
  expect(codes.size).toBe(8);
  expect([...codes].filter((code) => !read('README.md').includes(`\`${code}\``))).toEqual([]);
  expect(PACKAGES.filter((name) => !read('README.md').includes(name))).toEqual([]);
});

test('every code is one that the sources use', () => {
  const files = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' });
  const source = files.filter((file) => file.endsWith('.ts') && file !== 'errors.ts');
  const text = source.map((file) => read(`src/${file}`)).join('\n') + read('src/errors.ts').split('class')[1];
  const codes = new Set(read('src/errors.ts').match(/ERR_RDMC_ROCE_VM_[A-Z]+(?:_[A-Z]+)*/g));
  expect([...codes].filter((code) => !text.includes(code))).toEqual([]);
});

test('help names every option', () => {
  const names = [...read('src/cli/arguments.ts').matchAll(/^ {2}(\w+): \{ type:/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(6);
  expect(names.filter((name) => name !== 'help' && !HELP.includes(`--${name}`))).toEqual([]);
});
