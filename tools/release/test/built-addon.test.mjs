import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../tasks/setup.mjs';
import { BUILT } from '../addon.mjs';
import { checkAddon, GLIBC_LIMIT } from '../addon-check.mjs';
import { readElf } from '../elf.mjs';

const addon = join(root, BUILT);

it('the addon that was built here loads with the oldest glibc, and it is stripped', () => {
  expect(() => checkAddon(addon, process.arch)).not.toThrow();
  expect(readElf(addon).versions).toContain(`GLIBC_${GLIBC_LIMIT}`);
  expect(readFileSync(addon, 'latin1')).not.toContain('\0.symtab\0');
});

it('an addon for another processor is refused, with its file', () => {
  const other = process.arch === 'x64' ? 'arm64' : 'x64';
  expect(() => checkAddon(addon, other)).toThrow(
    `${addon}: the addon is for ${process.arch}, not for ${other}`,
  );
});
