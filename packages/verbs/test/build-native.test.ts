import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const SCRIPT = join(packageFolder, 'scripts', 'build-native.mjs');
const NOBODY = 65534;

/** A folder to be the whole PATH: these commands succeed, and do nothing. */
function pathWith(commands: readonly string[]): string {
  const folder = temporaryDirectory('rdmc-path');
  chmodSync(folder, 0o755);
  for (const command of commands) symlinkSync('/bin/true', join(folder, command));
  return folder;
}

/** A module that is loaded first, and makes this Node another machine. */
function pretending(code: string): string {
  const path = join(temporaryDirectory('rdmc-pretend'), 'pretend.cjs');
  writeFileSync(path, code);
  return path;
}

interface Attempt {
  /** The commands in PATH. */
  readonly commands?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly pretend?: string;
  readonly user?: number;
}

/** Runs the tool; its status, and the lines that it printed. */
function attempt({ commands = ['g++', 'make', 'python3'], args = [], env, pretend, user }: Attempt) {
  const preload = pretend ? ['--require', pretending(pretend)] : [];
  const result = spawnSync(process.execPath, [...preload, SCRIPT, ...args], {
    encoding: 'utf8',
    env: { PATH: pathWith(commands), ...env },
    ...(user !== undefined && { uid: user, gid: user }),
  });
  const lines = `${result.stdout}${result.stderr}`.trim().split('\n');
  return { status: result.status, lines };
}

const line = (text: RegExp | string) => [expect.stringMatching(text)];

describe('rdmc-verbs-build says in one line what is missing, and what to do', () => {
  it.each<[string, Attempt, RegExp]>([
    ['a compiler', { commands: ['make', 'python3'] }, /no C\+\+20 compiler: apt-get install g\+\+ make/],
    ['the compiler that CXX names', { env: { CXX: '/no/such' } }, /CXX is \/no\/such, which does not run/],
    ['make', { commands: ['g++', 'python3'] }, /there is no make: apt-get install make/],
    [
      'glibc',
      { pretend: 'process.report.getReport = () => ({ header: {} });' },
      /needs glibc.*Alpine has musl.*node:24-slim/,
    ],
    [
      'a processor that it was written for',
      { args: ['--arch', 'riscv64'] },
      /x64 and arm64, not for riscv64/,
    ],
    [
      'a Node.js that is new enough',
      { pretend: "Object.defineProperty(process, 'versions', { value: { node: '18.20.4' } });" },
      /Node\.js 20\.19 or newer is needed, and this is 18\.20\.4: install a newer one/,
    ],
    ['a known option', { args: ['--wrong'] }, /Unknown option '--wrong'.*without options/],
  ])('%s', (_, how, text) => {
    expect(attempt(how)).toEqual({ status: 1, lines: line(text) });
  });

  it('headers, where the packages that have them are not installed', () => {
    const folder = temporaryDirectory('rdmc-sources');
    expect(attempt({ args: ['--folder', folder] })).toEqual({
      status: 1,
      lines: line(/the package node-api-headers is missing.*npm install node-api-headers/),
    });
  });

  it('a folder that this user may write', () => {
    const folder = join(temporaryDirectory('rdmc-sources'), 'native');
    mkdirSync(folder);
    for (const name of ['node-api-headers', 'node-addon-api']) {
      const installed = join(folder, 'node_modules', name);
      cpSync(join(packageFolder, '..', '..', 'node_modules', name), installed, { recursive: true });
    }
    chmodSync(join(folder, '..'), 0o755);
    chmodSync(folder, 0o555);
    const user = process.getuid?.() === 0 ? { user: NOBODY } : {};
    expect(attempt({ args: ['--folder', folder], ...user })).toEqual({
      status: 1,
      lines: line(/cannot write to .*native\/build \(EACCES\): run it as the owner of that folder/),
    });
  });

  it('and elsewhere than on Linux that there is nothing to build, which is not an error', () => {
    const pretend = "Object.defineProperty(process, 'platform', { value: 'darwin' });";
    expect(attempt({ pretend })).toEqual({ status: 0, lines: line(/nothing to build on darwin/) });
  });
});

describe('the headers of Node-API', () => {
  it('are those of npm: no header of Node is read', () => {
    const headers = join(packageFolder, '..', '..', 'node_modules');
    const includes = [join(packageFolder, 'native'), join(headers, 'node-api-headers', 'include')];
    const source = join(packageFolder, 'native', 'soft', 'key_proof.cc');
    // -M reads every header, and names it; it does not compile.
    for (const file of [source, join(packageFolder, 'native', 'binding', 'fd.cc')]) {
      const flags = [...includes, join(headers, 'node-addon-api')].map((folder) => `-I${folder}`);
      const result = spawnSync('g++', ['-std=gnu++20', '-DNAPI_VERSION=9', ...flags, '-M', file], {
        encoding: 'utf8',
      });
      expect(result.stderr).toBe('');
      expect(result.stdout).toContain(file.endsWith('fd.cc') ? 'node_api.h' : 'key_proof.h');
      expect(result.stdout).not.toMatch(/\/(uv|openssl\/\w+|node_version)\.h/);
    }
  });
});
