import { describe, expect, it } from 'vitest';
import { completeLock, platformOf } from '../lock.mjs';

/** A lock file as npm leaves it where the registry lacks packages of other platforms. */
function lockOf(packages) {
  return { lockfileVersion: 3, packages };
}

describe('the lock file for npm ci', () => {
  it('gains the optional packages that npm left out, with version and platform', () => {
    const lock = lockOf({
      'node_modules/tool': {
        version: '1.2.3',
        dev: true,
        optionalDependencies: { '@t/darwin-arm64': '1.2.3' },
      },
    });
    expect(completeLock(lock)).toEqual(['node_modules/@t/darwin-arm64@1.2.3 added']);
    expect(lock.packages['node_modules/@t/darwin-arm64']).toEqual({
      version: '1.2.3',
      os: ['darwin'],
      cpu: ['arm64'],
      dev: true,
      optional: true,
    });
    expect(completeLock(lock)).toEqual([]);
  });

  it('keeps two versions apart: the second goes below the package that needs it', () => {
    const needs = (version) => ({ version, optionalDependencies: { 't-linux-x64-musl': version } });
    const lock = lockOf({ 'node_modules/a': needs('1.0.0'), 'node_modules/b': needs('2.0.0') });
    completeLock(lock);
    expect(lock.packages['node_modules/t-linux-x64-musl'].version).toBe('1.0.0');
    expect(lock.packages['node_modules/b/node_modules/t-linux-x64-musl'].version).toBe('2.0.0');
    expect(lock.packages['node_modules/t-linux-x64-musl'].libc).toEqual(['musl']);
    expect(completeLock(lock)).toEqual([]);
  });

  it('loses addresses of a registry', () => {
    const lock = lockOf({ 'node_modules/a': { version: '1.0.0', resolved: 'https://registry.local/a.tgz' } });
    expect(completeLock(lock)).toHaveLength(1);
    expect(lock.packages['node_modules/a']).toEqual({ version: '1.0.0' });
  });

  it('refuses a name without a platform', () => {
    const lock = lockOf({ 'node_modules/a': { version: '1.0.0', optionalDependencies: { plain: '1.0.0' } } });
    expect(() => completeLock(lock)).toThrow('node_modules/a needs plain');
  });

  it.each([
    ['@rollup/rollup-linux-arm-musleabihf', { os: ['linux'], cpu: ['arm'], libc: ['musl'] }],
    ['@turbo/windows-64', { os: ['win32'], cpu: ['x64'] }],
    ['@biomejs/cli-darwin-x64', { os: ['darwin'], cpu: ['x64'] }],
  ])('reads the platform of %s from its name', (name, platform) => {
    expect(platformOf(name)).toEqual(platform);
  });
});
