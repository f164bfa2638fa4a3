import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { checkGlibc, LEAST_GLIBC, neededGlibc } from '../../release/glibc.mjs';

const addon = fileURLToPath(
  new URL('../../../packages/verbs/native/build/Release/rdmc_verbs.node', import.meta.url),
);
const folder = mkdtempSync(join(tmpdir(), 'rdmc-glibc-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A file with these names in its table of strings. */
function fileWith(...names) {
  const path = join(folder, `${names.join('-')}.node`);
  writeFileSync(path, `\x7fELF\0${names.join('\0')}\0`);
  return path;
}

describe('the glibc that a file needs', () => {
  it('is the highest of its versions, compared as numbers', () => {
    expect(neededGlibc(fileWith('GLIBC_2.2.5', 'GLIBC_2.28', 'GLIBC_2.9'))).toEqual([2, 28]);
    expect(neededGlibc(fileWith('memcpy', 'GLIBC_PRIVATE', 'GLIBCXX_3.4.30'))).toEqual([0, 0]);
  });

  it('may not be newer than what the packages promise', () => {
    expect(() => checkGlibc(fileWith('GLIBC_2.28'))).not.toThrow();
    expect(() => checkGlibc(fileWith('GLIBC_2.34'))).toThrow(/needs glibc 2\.34, and may need 2\.28/);
    expect(() => checkGlibc(fileWith('GLIBC_2.17', 'libstdc++.so.6'))).toThrow(/--portable/);
  });

  it('of the addon that was built here is old enough, and it is stripped', () => {
    expect(() => checkGlibc(addon)).not.toThrow();
    expect(neededGlibc(addon)).toEqual(LEAST_GLIBC);
    expect(readFileSync(addon, 'latin1')).not.toContain('\0.symtab\0');
  });
});
