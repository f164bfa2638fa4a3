import { describe, expect, it } from 'vitest';
import type { VerbsError } from '../src/index.js';
import { loadAddon, type Machine, thisMachine } from '../src/load-addon.js';

const BUILT = '/package/native/build/Release/rdmc_verbs.node';
const PREBUILT = '@rdmc/verbs-linux-x64';
const debian: Machine = { platform: 'linux', processor: 'x64', node: '20.19.0', glibc: () => '2.36' };

function notFound(name: string): Error {
  return Object.assign(new Error(`Cannot find module '${name}'\nRequire stack:\n- /a`), {
    code: 'MODULE_NOT_FOUND',
  });
}

/** An error of dlopen, as Node throws it. */
function refused(message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_DLOPEN_FAILED' });
}

/** The error of a machine on which `message` is dlopen's answer for the prebuilt addon, or on which there is none. */
function failureOf(machine: Partial<Machine>, message?: string): VerbsError {
  const load = (candidate: string) => {
    throw candidate === PREBUILT && message ? refused(message) : notFound(candidate);
  };
  try {
    loadAddon(BUILT, load, { ...debian, ...machine });
  } catch (error) {
    return error as VerbsError;
  }
  throw new Error('it loaded');
}

describe('an addon that does not load', () => {
  it.each([
    [
      'glibc is too old',
      { glibc: () => '2.17' },
      "/lib64/libc.so.6: version `GLIBC_2.28' not found (required by /a/rdmc_verbs.node)",
      'ERR_RDMC_OLD_GLIBC',
      /needs glibc 2\.28, and this system has 2\.17: use a newer system .*npx rdmc-verbs-build/,
    ],
    [
      'libstdc++ is too old, as for an addon that was built on another machine',
      {},
      "/lib64/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /a/rdmc_verbs.node)",
      'ERR_RDMC_NATIVE_BROKEN',
      /does not load: .*GLIBCXX_3\.4\.30' not found.*npx rdmc-verbs-build/,
    ],
    [
      'musl, and the addon was installed all the same',
      { glibc: () => undefined },
      'Error loading shared library ld-linux-x86-64.so.2: No such file or directory (needed by /a/rdmc_verbs.node)',
      'ERR_RDMC_MUSL',
      /needs glibc.*musl.*node:24-slim/,
    ],
    [
      'the file is damaged',
      {},
      '/a/rdmc_verbs.node: file too short\nmore lines',
      'ERR_RDMC_NATIVE_BROKEN',
      /does not load: \/a\/rdmc_verbs\.node: file too short\. Install @rdmc\/verbs-linux-x64 again/,
    ],
  ])('%s', (_, machine, said, code, message) => {
    const error = failureOf(machine, said);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message), cause: refused(said) });
    expect(error.message).not.toContain('\n');
  });

  it.each([
    ['there is none', {}, 'ERR_RDMC_NATIVE_MISSING', /linux-x64: install .*@rdmc\/verbs-linux-x64/],
    ['musl, for which there is none', { glibc: () => undefined }, 'ERR_RDMC_MUSL', /node:24-slim/],
    ['another processor', { processor: 'riscv64' }, 'ERR_RDMC_PLATFORM', /x64 and arm64; this is riscv64/],
    ['another system', { platform: 'darwin' }, 'ERR_RDMC_PLATFORM', /need Linux; this is darwin/],
    [
      'a Node.js older than the oldest that is supported',
      { node: '20.18.3' },
      'ERR_RDMC_OLD_NODE',
      /needs Node\.js 20\.19 or newer, and this is 20\.18\.3/,
    ],
  ])('%s', (_, machine, code, message) => {
    const error = failureOf(machine);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(error.message).not.toContain('\n');
    expect(error.cause).toBeUndefined();
  });

  it('prefers the one that was built here, and explains why it was refused', () => {
    const asked: string[] = [];
    const load = (candidate: string) => {
      asked.push(candidate);
      throw refused(`${candidate}: no`);
    };
    expect(() => loadAddon(BUILT, load, debian)).toThrow(`${BUILT}: no`);
    expect(asked).toEqual([BUILT, PREBUILT]);
    expect(loadAddon(BUILT, (candidate) => candidate, debian)).toBe(BUILT);
  });

  it('passes on an error of another kind', () => {
    const defect = new TypeError('a defect');
    const load = () => {
      throw defect;
    };
    expect(() => loadAddon(BUILT, load, debian)).toThrow(defect);
  });
});

it('the libc of this machine is recognised', () => {
  expect(thisMachine.glibc()).toMatch(/^2\.\d+$/);
});
