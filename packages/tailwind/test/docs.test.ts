import { readdirSync, readFileSync } from 'node:fs';
import { tailwindErrors } from '@rdmc/tailwind';
import { expectExample } from '@rdmc/testing';
import { expect, it } from 'vitest';

const root = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const readme = read('README.md');

it('the README shows the example and what it prints', () => expectExample(root));

it('the README explains every error code, and every code is used', () => {
  const codes = Object.keys(tailwindErrors);
  // The checks of @rdmc/common throw these two with this package's class.
  const used = [...sources('src/'), "'ERR_RDMC_UNKNOWN_OPTION'", "'ERR_RDMC_INVALID_OPTION'"].join('\n');
  for (const code of codes) {
    // Rows name families as `ERR_RDMC_STATE_CONFLICT`, `..._DAMAGED`.
    const [, family, last] = /^ERR_RDMC_([A-Z]+)_(.+)$/.exec(code) ?? [];
    const isListed =
      readme.includes(`\`${code}\``) ||
      (readme.includes(`ERR_RDMC_${family}_`) && readme.includes(`..._${last}`));
    expect([code, isListed]).toEqual([code, true]);
    expect([code, used.includes(`'${code}'`)]).toEqual([code, true]);
  }
});

/** All sources but the list of codes itself. */
function sources(directory: string): string[] {
  return readdirSync(new URL(directory, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && name !== 'errors.ts')
    .map((name) => read(`${directory}${name}`));
}
