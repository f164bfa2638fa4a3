import type * as fs from 'node:fs';
import { temporaryDirectory } from '@rdmc/testing';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { userKey } from '../src/user-key.js';

/** The calls that make a file last, in order. */
const calls = vi.hoisted(() => [] as string[]);

// Other files have loaded these modules, and will use them again, without the mock.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
vi.mock('node:fs', async (original) => {
  const actual = await original<typeof fs>();
  const noted = <Name extends 'writeSync' | 'fsyncSync' | 'linkSync'>(name: Name) =>
    ((...args: unknown[]) => {
      calls.push(name);
      return Reflect.apply(actual[name], actual, args);
    }) as (typeof actual)[Name];
  return {
    ...actual,
    ...Object.fromEntries(
      (['writeSync', 'fsyncSync', 'linkSync'] as const).map((name) => [name, noted(name)]),
    ),
  };
});

afterEach(() => {
  vi.unstubAllEnvs();
});

test('a key is on the disk before it has its name: power may fail at any time', () => {
  vi.stubEnv('XDG_RUNTIME_DIR', temporaryDirectory());
  userKey();
  expect(calls).toEqual(['writeSync', 'fsyncSync', 'linkSync']);
});
