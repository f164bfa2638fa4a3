import { spawnSync } from 'node:child_process';
import { describe, expect, it, vi } from 'vitest';

vi.stubEnv('RDMC_DOWNLOAD_LIMIT', '0.1');
vi.resetModules();
const { download, isLate, DOWNLOAD } = await import('../download.mjs');
vi.unstubAllEnvs();
vi.resetModules();

const sleep = ['sleep', ['600']];

describe('a download', () => {
  it('ends at its limit, with one line about what to do', () => {
    expect(() => download('npm ci', ...sleep)).toThrow(
      /^npm ci took longer than 0\.1 s; check the network and the registry, or give it more time: RDMC_DOWNLOAD_LIMIT=SECONDS$/,
    );
    expect(isLate(spawnSync(...sleep, DOWNLOAD))).toBe(true);
  });

  it('fails as the command does, before the limit', () => {
    expect(() => download('npm ci', 'no-such-command', [])).toThrow(/ENOENT/);
    expect(isLate({ status: 3 })).toBe(false);
  });
});
