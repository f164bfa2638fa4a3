import { spawnSync } from 'node:child_process';
import { describe, expect, it, vi } from 'vitest';

/** The module as it is with this limit. */
async function limited(seconds) {
  vi.stubEnv('RDMC_DOWNLOAD_LIMIT', seconds);
  vi.resetModules();
  const module = await import('../download.mjs');
  vi.unstubAllEnvs();
  vi.resetModules();
  return module;
}
const { download, isLate, DOWNLOAD } = await limited('0.1');

const sleep = ['sleep', ['600']];

describe('a download', () => {
  it('ends at its limit, with one line about what to do', () => {
    expect(() => download('npm ci', ...sleep)).toThrow(
      /^npm ci took longer than 0\.1 s; check the network and the registry, or give it more time: RDMC_DOWNLOAD_LIMIT=SECONDS$/,
    );
    expect(isLate(spawnSync(...sleep, DOWNLOAD))).toBe(true);
  });

  it.each([
    ['Infinity', 2 ** 31 - 1],
    ['1e9', 2 ** 31 - 1],
    ['0.0125', 13],
    ['-1', 300_000],
    ['never', 300_000],
    ['', 300_000],
  ])('has a limit that a timer can have: %s', async (seconds, timeout) => {
    expect((await limited(seconds)).DOWNLOAD).toEqual({ timeout });
  });

  it('fails as the command does, before the limit', () => {
    expect(() => download('npm ci', 'no-such-command', [])).toThrow(/ENOENT/);
    expect(isLate({ status: 3 })).toBe(false);
  });
});
