import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ArrivedCast } from '@rdmc/cast';
import { rejection, temporaryDirectory, until } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { standardInputName } from '../src/cast/standard-input.js';
import { environmentOf, findProgram, nameList, runCommand } from '../src/receive/command.js';
import { checkDestination, execOf } from '../src/receive/destination.js';
import { splitExec } from '../src/receive/exec-arguments.js';
import { errorRecord, JsonLog } from '../src/receive/log.js';
import { partsOf } from '../src/receive/parts.js';
import { ReceiveReporter } from '../src/receive/reporter.js';
import { createPalette } from '../src/ui/palette.js';
import { isRunning } from './support/cli.js';

function arrived(part: Partial<ArrivedCast> = {}): ArrivedCast {
  const facts = { castId: 'id', from: 'host (10.0.0.1)', files: 2, bytes: 10, unchangedFiles: 1, removed: 3 };
  return { ...facts, names: [Buffer.from('model')], ...part };
}

/** A command line for `sh -c`, with limits that no test reaches. */
function shell(script: string, directory: string, ...args: readonly string[]) {
  return { program: '/bin/sh', args: ['-c', script, ...args], directory, timeoutMs: 3_600_000 };
}
const never = new AbortController().signal;

describe('the command line of --exec', () => {
  it.each([
    [['receive', '--dir', 'd'], ['receive', '--dir', 'd'], undefined],
    [['receive', '--exec', 'curl', '-X', 'POST', '--json'], ['receive'], ['curl', '-X', 'POST', '--json']],
    [
      ['receive', '--json', '--exec', '--', 'a', '--', 'b'],
      ['receive', '--json'],
      ['a', '--', 'b'],
    ],
    [['receive', '--exec'], ['receive'], []],
    [['cast', 'x', '--exec', 'y'], ['cast', 'x', '--exec', 'y'], undefined],
  ])('%j', (given, argv, exec) => {
    expect(splitExec(['node', 'rdmc', ...given])).toEqual({ argv: ['node', 'rdmc', ...argv], exec });
  });
});

describe('the destination of rdmc receive', () => {
  const none = { mkdir: false, stdout: false, fsync: true, resume: true, archive: false, json: false };

  it('is a directory, or standard output', () => {
    expect(() => checkDestination(none)).toThrow('--dir is missing');
    checkDestination({ ...none, dir: '.', mkdir: true, fsync: false, json: true, exec: ['true'] });
    checkDestination({ ...none, stdout: true });
    for (const [option, part] of Object.entries({
      '--dir': { dir: '.' },
      '--mkdir': { mkdir: true },
      '--exec': { exec: [] },
      '--no-fsync': { fsync: false },
      '--no-resume': { resume: false },
      '--resume-limit': { resumeLimit: 0 },
      '--archive': { archive: true },
      '--json': { json: true },
    }))
      expect(() => checkDestination({ ...none, stdout: true, ...part })).toThrow(
        `--stdout and ${option} exclude each other`,
      );
  });

  it('is shared memory, of which parts may be named', () => {
    checkDestination({ ...none, shm: 'model', json: true, exec: ['true'] });
    for (const [option, part] of Object.entries({
      '--dir': { dir: '.' },
      '--mkdir': { mkdir: true },
      '--no-fsync': { fsync: false },
      '--no-resume': { resume: false },
    }))
      expect(() => checkDestination({ ...none, shm: 'model', ...part })).toThrow(
        `--shm and ${option} exclude each other`,
      );
    expect(() => checkDestination({ ...none, stdout: true, shm: 'model' })).toThrow(
      '--stdout and --shm exclude',
    );
    expect(partsOf({ shm: 'model' })).toBeUndefined();
    expect(partsOf({ shm: 'model', tensors: ['a*'], range: ['*.bin:0-1KiB', 'a:b:5-6'] })).toEqual({
      tensors: ['a*'],
      ranges: [
        { path: '*.bin', begin: 0, end: 1024 },
        { path: 'a:b', begin: 5, end: 6 },
      ],
    });
    expect(() => partsOf({ tensors: ['a'] })).toThrow('--tensors applies only to --shm');
    expect(() => partsOf({ range: ['a:0-1'] })).toThrow('--range applies only to --shm');
  });

  it.each(['', 'a', 'a:', ':0-1', 'a:0', 'a:1-1', 'a:2-1', 'a:x-1', 'a:0-1-2'])(
    'has no range %j',
    (range) => {
      expect(() => partsOf({ shm: 'model', range: [range] })).toThrow('expected FILES:BEGIN-END');
    },
  );

  it('has a command with a limit, or none', () => {
    expect(execOf(none)).toBeUndefined();
    expect(execOf({ ...none, exec: ['a', '-b'] })).toEqual({ argv: ['a', '-b'], timeoutMs: 300_000 });
    expect(execOf({ ...none, exec: ['a'], execTimeout: 5 })).toMatchObject({ timeoutMs: 5 });
    expect(() => execOf({ ...none, exec: [] })).toThrow('the command is missing');
    expect(() => execOf({ ...none, execTimeout: 5 })).toThrow('--exec-timeout applies only to --exec');
  });
});

describe('the program of --exec', () => {
  it('is found by its path, or in PATH', async () => {
    const folder = temporaryDirectory();
    const program = join(folder, 'reload');
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o755);
    expect(await findProgram(program)).toBe(program);
    expect(await findProgram('reload', `/nowhere:${folder}`)).toBe(program);
  });

  it.each([
    ['does not exist', () => 'no-such-program'],
    ['is a path that does not exist', () => '/no/such/program'],
    ['is a directory', () => temporaryDirectory()],
    ['is empty', () => ''],
    [
      'is not executable',
      () => {
        const path = join(temporaryDirectory(), 'text');
        writeFileSync(path, 'text');
        return path;
      },
    ],
  ])('that %s is refused', async (_, name) => {
    const error = await rejection(findProgram(name()));
    expect(error).toMatchObject({ code: 'ERR_RDMC_USAGE', exitCode: 2 });
    expect(error.message).toContain('is not an executable file');
  });
});

describe('names for the command', () => {
  it('come on standard input, each with a zero byte, whatever their bytes are', () => {
    const name = fc
      .uint8Array({ minLength: 1, maxLength: 20 })
      .map((bytes) => bytes.map((byte) => byte || 1));
    fc.assert(
      fc.property(fc.array(name, { maxLength: 10 }), (names) => {
        const parts = nameList(names).toString('latin1').split('\0');
        expect(parts.pop()).toBe('');
        expect(parts).toEqual(names.map((bytes) => Buffer.from(bytes).toString('latin1')));
      }),
    );
  });

  it('are in the environment where there is one, and it is text; the key is not', () => {
    const base = { PATH: '/bin', RDMC_KEY: 'secret' };
    expect(environmentOf(arrived({ from: 'ho\nst' }), '/srv', base)).toEqual({
      PATH: '/bin',
      RDMC_CAST_ID: 'id',
      RDMC_CAST_FROM: 'ho\\x0ast',
      RDMC_CAST_DIR: '/srv',
      RDMC_CAST_FILES: '2',
      RDMC_CAST_BYTES: '10',
      RDMC_CAST_UNCHANGED_FILES: '1',
      RDMC_CAST_REMOVED: '3',
      RDMC_CAST_NAMES: '1',
      RDMC_CAST_NAME: 'model',
    });
    for (const names of [[], [Buffer.from([0xff])], [Buffer.from('a'), Buffer.from('b')]])
      expect(environmentOf(arrived({ names }), '/srv', base)).not.toHaveProperty('RDMC_CAST_NAME');
  });
});

describe('a command', () => {
  it('gets names that look like options or shell text only as data', async () => {
    const directory = temporaryDirectory();
    const names = ['-rf', '$(touch pwned)', "a'b", 'new\nline'].map((name) => Buffer.from(name));
    const script = 'cat > names; printf "%s|" "$#" "$RDMC_CAST_FILES" "$PWD" > facts';
    await runCommand(shell(script, directory), arrived({ names }), never);
    expect(readFileSync(join(directory, 'names')).equals(nameList(names))).toBe(true);
    expect(readFileSync(join(directory, 'facts'), 'utf8')).toBe(`0|2|${directory}|`);
    expect(existsSync(join(directory, 'pwned'))).toBe(false);
  });

  it.each([
    ['ends with a code', 'exit 7', 'ended with exit code 7'],
    ['is ended by a signal', 'kill -SEGV $$', 'was ended by SIGSEGV'],
  ])('that %s fails the cast', async (_, script, what) => {
    const error = await rejection(runCommand(shell(script, '/'), arrived(), never));
    expect(error).toMatchObject({ code: 'ERR_RDMC_COMMAND_FAILED' });
    expect(error.message).toContain(what);
  });

  it('that cannot be run fails the cast', async () => {
    const directory = temporaryDirectory();
    const gone = { ...shell('', directory), program: join(directory, 'gone') };
    expect((await rejection(runCommand(gone, arrived(), never))).message).toContain(
      'no such file or directory',
    );
  });

  it('that does not read its input succeeds, also with many names', async () => {
    const names = Array.from({ length: 20_000 }, (_, i) => Buffer.from(`name ${i}`));
    await runCommand(shell('exec true', '/'), arrived({ names }), never);
  });

  it('that takes too long is killed, and the error has the limit', async () => {
    const slow = { ...shell('exec sleep 1000', '/'), timeoutMs: 50 };
    const error = await rejection(runCommand(slow, arrived(), never));
    expect(error).toMatchObject({ code: 'ERR_RDMC_COMMAND_TIMEOUT' });
    expect(error.message).toContain('within 50.0 ms (--exec-timeout)');
  });

  it('is killed with its children, also those that ignore SIGTERM', async () => {
    const directory = temporaryDirectory();
    const script = '(trap "" TERM; echo ready > child; exec sleep 1000) & echo $! > pid; exec sleep 1000';
    const stop = new AbortController();
    const running = rejection(runCommand(shell(script, directory), arrived(), stop.signal));
    const read = (name: string): string =>
      existsSync(join(directory, name)) ? readFileSync(join(directory, name), 'utf8') : '';
    await until(() => read('child') !== '' && read('pid').endsWith('\n'), 10);
    const pid = Number(read('pid'));
    expect(isRunning(pid)).toBe(true);
    stop.abort(new Error('the receiver is closed'));
    expect((await running).message).toBe('the receiver is closed');
    await until(() => !isRunning(pid), 10);
  });

  it('may leave a service in the background', async () => {
    const directory = temporaryDirectory();
    await runCommand(shell('sleep 1000 & echo $! > pid', directory), arrived(), never);
    const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'));
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
  });

  it('does not start after the end of the receiver', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'x'));
    const ended = AbortSignal.abort(new Error('closed'));
    await rejection(runCommand(shell('touch started', directory), arrived(), ended));
    expect(existsSync(join(directory, 'started'))).toBe(false);
  });
});

describe('standard input as the path of a cast', () => {
  const none = {
    ...{ keyStdin: false, compare: 'size-time', c: false, exclude: [], include: [], update: false },
    ...{ existing: false, wholeFile: false, delete: false, dryRun: false, plan: false, retries: 0 },
    archive: false,
  };
  const rule = [{ action: 'exclude', pattern: 'x' }] as const;

  it('has a name', () => {
    expect(standardInputName(['-'], none)).toBe('stdin');
    expect(standardInputName(['-'], { ...none, name: 'src.tar' })).toBe('src.tar');
    expect(standardInputName(['./-'], none)).toBeUndefined();
  });

  it.each([
    ['other paths', ['-', 'x'], {}, 'cast alone'],
    ['a name without it', ['x'], { name: 'n' }, '--name applies only'],
    ['the key there too', ['-'], { keyStdin: true }, '--key-stdin is not possible with -'],
    ['a list of files', ['-'], { filesFrom: 'l' }, '--files-from'],
    ['contents compared', ['-'], { c: true }, '-c'],
    ['contents compared', ['-'], { compare: 'content' }, '--compare content'],
    ['filters', ['-'], { exclude: rule }, '--exclude'],
    ['whole files', ['-'], { wholeFile: true }, '--whole-file is not possible with -'],
    ['removals', ['-'], { delete: true }, '--delete'],
    ['a dry run', ['-'], { dryRun: true }, '--dry-run'],
    ['owners', ['-'], { archive: true }, '--archive'],
    ['a plan', ['-'], { plan: true }, '--plan'],
    ['retries', ['-'], { retries: 1 }, '--retries'],
  ])('is refused with %s', (_, paths, part, message) => {
    expect(() => standardInputName(paths, { ...none, ...part })).toThrow(message);
  });
});

describe('the log of --log-json', () => {
  const facts = { castId: 'c', from: 'host', files: 1, bytes: 2 };
  const counts = {
    directories: 0,
    links: 0,
    keptBytes: 0,
    unchangedFiles: 0,
    resumedBytes: 0,
    unchangedBytes: 0,
    removed: 0,
    seconds: 1,
  };

  it('has one object per line with time, level, event and message; progress is left out', () => {
    const notes: string[] = [];
    const out: string[] = [];
    const terminal = {
      ...{ palette: createPalette(false), columns: 80, rows: 24, interactive: false },
      out: (...lines: readonly string[]) => void out.push(...lines),
      note: (...lines: readonly string[]) => void notes.push(...lines),
      json: () => {},
      line: (document: unknown) => void out.push(JSON.stringify(document)),
    };
    const reporter = new ReceiveReporter(terminal, {
      json: false,
      quiet: false,
      verbose: false,
      logJson: true,
    });
    const problem = { path: 'x', code: 'E', message: 'm' };
    reporter.happened({ type: 'began', encrypted: true, ...facts });
    reporter.happened({ type: 'progress', ...facts, receivedBytes: 1, storedBytes: 0 });
    reporter.happened({ type: 'complete', ...facts, ...counts, problems: [], problemCount: 0 });
    reporter.happened({ type: 'complete', ...facts, ...counts, problems: [problem], problemCount: 1 });
    reporter.happened({ type: 'failed', ...facts, code: 'ERR_RDMC_SENDER_LOST', message: 'lost\nhere' });
    reporter.logger!.warn!({ reason: 'r' }, 'a connection was refused');
    const records = notes.map((line) => JSON.parse(line));
    expect(records.map(({ level, event }) => `${level} ${event}`)).toEqual([
      'info began',
      'info complete',
      'warn complete',
      'error failed',
      'warn log',
    ]);
    for (const record of records) {
      expect(Object.keys(record).slice(0, 4)).toEqual(['time', 'level', 'event', 'message']);
      expect(record.time).toBe(new Date(record.time).toISOString());
    }
    expect(records[3]).toMatchObject({ code: 'ERR_RDMC_SENDER_LOST', reason: 'lost\nhere', castId: 'c' });
    expect(out).toEqual([]);
  });

  it('has the error that ends the command', () => {
    const error = Object.assign(new Error('taken'), { code: 'ERR_RDMC_ADDRESS_IN_USE' });
    expect(errorRecord(error, new Date(0))).toEqual({
      ...{ time: '1970-01-01T00:00:00.000Z', level: 'error', event: 'error', message: 'taken' },
      ...{ code: 'ERR_RDMC_ADDRESS_IN_USE', advice: null, exitCode: 1 },
    });
  });

  it('begins with the address', () => {
    const lines: string[] = [];
    new JsonLog((line) => lines.push(line)).listening({
      event: 'listening',
      ...{ host: '::1', port: 7411, directory: null, keyed: true, pid: 1, hostName: 'h', version: '0' },
      ...{ sharedMemory: null, addresses: [], metrics: null },
    });
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'info',
      event: 'listening',
      port: 7411,
      keyed: true,
    });
  });
});
