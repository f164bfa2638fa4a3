import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { beforeEach, expect, it } from 'vitest';
import { clusterKey } from '../src/cli/key.js';

const KEY = '0123456789abcdef'.repeat(2);
let directory: string;
let path: string;

beforeEach(() => {
  directory = temporaryDirectory('kv-key');
  path = join(directory, 'key');
  writeFileSync(path, `${KEY}\n`, { mode: 0o600 });
});

it('a key file of its owner only is read', () => {
  expect(clusterKey(path)).toBe(KEY);
});

it.each([0o644, 0o640, 0o602, 0o620])(
  'a key file of mode %o is refused, with its mode and what to do',
  (mode) => {
    chmodSync(path, mode);
    expect(() => clusterKey(path)).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_KV_INVALID_KEY',
        message: expect.stringMatching(new RegExp(`\\(mode 0${mode.toString(8)}\\): chmod 600 ${path}$`)),
      }),
    );
  },
);

it('what is not a key file is refused with a reason', () => {
  const refusal = (message: RegExp) =>
    expect.objectContaining({ code: 'ERR_RDMC_KV_INVALID_KEY', message: expect.stringMatching(message) });
  expect(() => clusterKey(directory)).toThrow(refusal(/is a directory/));
  expect(() => clusterKey(join(directory, 'none'))).toThrow(refusal(/ENOENT.*openssl rand/));
  writeFileSync(path, '\n');
  expect(() => clusterKey(path)).toThrow(refusal(/is empty/));
  writeFileSync(path, 'x'.repeat(5000));
  expect(() => clusterKey(path)).toThrow(refusal(/5000 bytes/));
});
