import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { whatIsLeft } from '../src/commands/cast.js';
import { whatIsLeft as whatIsLeftOfFetch } from '../src/commands/fetch.js';
import { answer, Cli, Scratch } from './support/cli.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

describe('rdmc cast refuses', () => {
  it.each([
    ['no file', ['--to', 'a'], "missing required argument 'path'"],
    ['no receiver', ['f'], 'give receivers: --to host1,host2'],
    [
      'a host given twice',
      ['f', '--to', 'a,b:1,A:7411,b:1'],
      'error ERR_RDMC_DUPLICATE_HOST: given more than once: a, b:1',
    ],
    [
      'an address given twice',
      ['f', '--to', 'localhost,127.0.0.1'],
      'ERR_RDMC_DUPLICATE_HOST: given more than once: localhost:7411 = 127.0.0.1:7411',
    ],
    ['an IPv6 address without brackets', ['f', '--to', '::1'], 'write an IPv6 address in brackets: [::1]'],
    [
      'an option in the place of a host',
      ['f', '--to', '-oProxyCommand=x', '--ssh'],
      '"-oProxyCommand=x" is not a host name',
    ],
    ['a user without a remote shell', ['f', '--to', 'root@a'], 'only the remote shell uses a user name'],
    ['--slurm outside of a job', ['f', '--slurm'], 'SLURM_JOB_NODELIST is not set'],
    [
      'a host file that does not exist',
      ['f', '--hostfile', '/no/such/file'],
      'error ENOENT: cannot read the host file /no/such/file: no such file or directory\n',
    ],
    [
      'another host without a key',
      ['f', '--to', '192.0.2.1,127.0.0.1'],
      'error ERR_RDMC_KEY_REQUIRED: receivers on other hosts need a key: 192.0.2.1',
    ],
    [
      '--remote-dir without --ssh',
      ['f', '--to', 'a', '--remote-dir', 'x'],
      '--remote-dir applies only to receivers that --ssh starts',
    ],
    ['a key with --ssh', ['f', '--to', 'a', '--ssh', '--key-file', 'k'], '--ssh makes a new key'],
    ['two keys', ['f', '--to', 'a', '--key-stdin', '--key-file', 'k'], '--key-file and --key-stdin exclude'],
    [
      'a remote shell with an open quote',
      ['f', '--to', 'a', '--ssh', '--remote-shell', "ssh '"],
      "--remote-shell: the quote ' is not closed",
    ],
    ['an unknown algorithm', ['f', '--to', 'a', '-a', 'magic'], 'expected auto, sequential'],
    ['a malformed rate', ['f', '--to', 'a', '--bandwidth-limit', 'fast'], 'such as 40MiB/s or 300Mbit/s'],
    [
      'a rate that is too low',
      ['f', '--to', 'a', '--bandwidth-limit', '1kB/s'],
      'expected a rate of at least 64 KiB/s',
    ],
    [
      'a stall time that casts do not have',
      ['f', '--to', 'a', '--stall-timeout', '11min'],
      'expected a duration from 1000 ms to 600 s',
    ],
    ['a malformed time', ['f', '--to', 'a', '--stall-timeout', 'soon'], 'such as 30s, 500ms or 2min'],
    [
      'messages that are too small',
      ['f', '--to', 'a', '--message-size', '1KiB'],
      '--message-size: found "1KiB"; expected a size from 64 KiB to 1 GiB',
    ],
    [
      'a trace of several attempts',
      ['f', '--to', 'a', '--trace', 't', '--retries', '1'],
      '--trace and --retries exclude each other',
    ],
  ])('%s: exit code 2', async (_, args, message) => {
    const { code, stderr } = await answer('cast', ...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('names that do not resolve, all of them: exit code 4', async () => {
    const { code, stderr } = await answer('cast', 'f', '--to', 'one.invalid,127.0.0.1,two.invalid');
    expect(stderr).toMatch(
      /error ERR_RDMC_UNKNOWN_HOST: these names do not resolve: one\.invalid \(\w+\), two\.invalid \(\w+\)/,
    );
    expect(code).toBe(4);
  });

  it('a key file that others can read: exit code 2', async () => {
    const path = join(scratch.path, 'key');
    writeFileSync(path, 'ab'.repeat(32));
    chmodSync(path, 0o644);
    for (const command of [
      ['cast', 'f', '--to', 'a'],
      ['receive', '--dir', '.'],
    ]) {
      const { code, stderr } = await answer(...command, '--key-file', path);
      expect(code).toBe(2);
      expect(stderr).toContain(`chmod 600 ${path}`);
    }
  });

  it('a malformed key in the environment, without showing it: exit code 2', async () => {
    const { code, stderr } = await new Cli(['cast', 'f', '--to', 'a'], { RDMC_KEY: 'open sesame' }).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('error ERR_RDMC_INVALID_KEY: the key in RDMC_KEY is neither');
    expect(stderr).not.toContain('sesame');
  });
});

describe('rdmc receive refuses', () => {
  it.each([
    ['no directory', ['--listen', '127.0.0.1'], '--dir is missing'],
    ['a trace of several casts', ['--dir', '/no/such/directory', '--trace', 't'], 'add --once'],
    ['a user', ['--listen', 'root@127.0.0.1', '--dir', '.'], 'expected ADDRESS or ADDRESS:PORT'],
    ['a reversed range of ports', ['--dir', '.', '--mesh-ports', '9-1'], 'expected ports such as 7500-7600'],
    [
      'a directory with --controlled',
      ['--controlled', '--dir', '.'],
      '--controlled and --dir exclude each other',
    ],
    ['a key with --controlled', ['--controlled', '--key-file', 'k'], '--controlled and --key-file exclude'],
    ['two keys', ['--dir', '.', '--key-stdin', '--key-file', 'k'], '--key-file and --key-stdin exclude'],
  ])('%s: exit code 2', async (_, args, message) => {
    const { code, stderr } = await answer('receive', ...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it.each([
    ['no instructions', '\n', 2, 'standard input ended without instructions'],
    ['malformed instructions', 'hello\n', 2, 'not a JSON document'],
    [
      'instructions of another version',
      '{"version":99}\n',
      1,
      "the sender's instructions have version 99, this receiver supports 1",
    ],
    ['incomplete instructions', '{"version":1}\n', 2, 'instructions: key'],
  ])('%s with --controlled', async (_, input, exitCode, message) => {
    const { code, stderr } = await new Cli(['receive', '--controlled'], {}, { input }).ended;
    expect(stderr).toContain(message);
    expect(code).toBe(exitCode);
  });
});

describe('the advice after an interrupt', () => {
  const casting = { resume: true, compare: 'size-time', dryRun: false, plan: false } as const;
  it('says that the same command continues, where it does', () => {
    expect(whatIsLeft(['f'], casting).advice).toContain('the same command continues the cast');
    expect(whatIsLeftOfFetch({ compare: 'content' }).advice).toContain('fetches the rest');
  });

  it.each([
    ['--no-resume', ['f'], { resume: false }],
    ['--compare none', ['f'], { compare: 'none' }],
    ['--dry-run', ['f'], { dryRun: true }],
    ['standard input', ['-'], {}],
  ] as const)('%s: does not say so', (_, paths, options) => {
    expect(whatIsLeft(paths, { ...casting, ...options })).toEqual({});
  });

  it('a fetch with --compare none: does not say so', () => {
    expect(whatIsLeftOfFetch({ compare: 'none' })).toEqual({});
  });
});
