import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { followShared, type SharedRecord } from '@rdmc/cast';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ReceiveEvent, receiveEvent } from '../src/receive/events.js';
import { cast, finishedOf, Receiver, sampleFile, startReceivers } from './support/casting.js';
import { type Answered, answer, Cli, type Ended, Scratch } from './support/cli.js';
import { castHere, receiversHere } from './support/here.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

/** Text that differs everywhere, so that the command's output can be compared as text. */
function sampleText(bytes: number): string {
  return Array.from({ length: Math.ceil(bytes / 8) }, (_, i) => i.toString(36).padStart(7, '0'))
    .join('\n')
    .slice(0, bytes);
}

/** `rdmc receive --stdout`, when it listens. */
async function standardOutput(args: readonly string[] = []) {
  const cli = new Cli(['receive', '--stdout', '--listen', '127.0.0.1:0', ...args]);
  const port = await cli.until(
    ({ stderr }) => /Listening on 127\.0\.0\.1:(\d+); files go to standard output/.exec(stderr)?.[1],
    'its address',
  );
  return { cli, name: `127.0.0.1:${port}` };
}

/** `rdmc cast - …` with this input. */
function castInput(input: string, args: readonly string[]): Promise<Ended> {
  const cli = new Cli(['cast', '-', ...args], {}, { input });
  cli.child.stdin!.end();
  return cli.ended;
}

describe('rdmc cast -', () => {
  it('sends standard input to a directory and to standard output, only the bytes', async () => {
    const text = sampleText(3_000_000);
    const { receivers, to } = await receiversHere(scratch, 1);
    const { cli, name } = await standardOutput();
    const ended = await castInput(text, ['--to', `${to},${name}`, '--name', 'list.txt']);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stdout).toMatch(/^All 2 receivers have 1 file, 2\.9 MiB, verified, encrypted, in /m);
    expect(readFileSync(join(receivers[0]!.directory, 'list.txt'), 'utf8')).toBe(text);
    const received = await cli.ended;
    expect(received.code, received.stderr).toBe(0);
    expect(received.stdout === text).toBe(true);
    expect(received.stderr).toContain('Complete: 1 file, 2.9 MiB, verified');
  });

  it('ends with 1 where the input fails, and nothing is stored', async () => {
    const { receivers, to } = await startReceivers(scratch, 1);
    // The memory of this process: reading its first page fails.
    const shell = new Cli(['cast', '-', '--to', to], {}, { inputPath: '/proc/self/mem' });
    const ended = await shell.ended;
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/error ERR_RDMC_UNREADABLE: the input failed: EIO/);
    await receivers[0]!.cli.event('failed');
    expect(receivers[0]!.left()).toEqual([]);
  });

  it('refuses a directory as standard input', async () => {
    const { code, stderr } = await new Cli(
      ['cast', '-', '--to', '127.0.0.1:1'],
      {},
      { inputPath: scratch.path },
    ).ended;
    expect(stderr).toContain('error ERR_RDMC_USAGE: standard input is a directory');
    expect(code).toBe(2);
  });
});

describe('rdmc receive --stdout', () => {
  it('refuses a directory, with exit codes at both ends', async () => {
    const { cli, name } = await standardOutput();
    writeFileSync(join(scratch.path, 'file'), 'x');
    const sent = await castHere(scratch.path, '--to', name);
    expect(sent.code).toBe(1);
    expect(sent.stderr).toContain('ERR_RDMC_SEVERAL_FILES');
    const received = await cli.ended;
    expect(received).toMatchObject({ code: 1, stdout: '' });
    expect(received.stderr).toContain('ERR_RDMC_SEVERAL_FILES');
  });

  it('ends with 141 where its reader goes away, and the sender is told', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 8_000_000);
    const { cli, name } = await standardOutput();
    cli.child.stdout!.destroy();
    const sent = await castHere(file, '--to', name);
    expect(sent.code).not.toBe(0);
    expect(finishedOfOrError(sent)).not.toBe('all');
    expect((await cli.ended).code).toBe(141);
  });

  it('ends with 4 where the sender is killed: its output is then not whole', async () => {
    const { cli, name } = await standardOutput();
    const sender = new Cli(
      ['cast', '-', '--to', name, '--message-size', '64KiB'],
      {},
      { input: sampleText(400_000) },
    );
    await cli.until(({ stdout }) => stdout.length > 0, 'its first bytes');
    await sender.kill();
    const received = await cli.ended;
    expect(received.code).toBe(4);
    expect(sampleText(400_000).startsWith(received.stdout)).toBe(true);
  });
});

function finishedOfOrError(ended: Answered): string {
  return ended.stdout.includes('"event":"finished"') ? finishedOf(ended).outcome : 'error';
}

describe('rdmc receive --controlled --require-encryption', () => {
  it('refuses casts without encryption, whatever the sender instructs', async () => {
    const key = 'ab'.repeat(32);
    const instructions = {
      ...{ version: 1, key, host: '127.0.0.1', port: 0, directory: scratch.path, makeDirectory: false },
      ...{ once: false, meshPorts: null, device: 'auto', transport: 'auto' },
    };
    const input = `${JSON.stringify(instructions)}\n`;
    const args = ['receive', '--controlled', '--require-encryption'];
    const receiver = new Cli<ReceiveEvent>(args, {}, { schema: receiveEvent, input });
    const { port } = await receiver.event('listening');
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const sent = await cast([file, '--to', `127.0.0.1:${port}`, '--no-encrypt'], { RDMC_KEY: key }).ended;
    expect(sent.stderr).toContain('ERR_RDMC_ENCRYPTION_REQUIRED');
    expect(sent.code).toBe(1);
    receiver.child.stdin!.end();
    await receiver.ended;
  });
});

describe('rdmc receive --shm', () => {
  const present = (name: string): string[] => readdirSync('/dev/shm').filter((each) => each.startsWith(name));
  const start = async (name: string) => {
    const cli = new Cli<ReceiveEvent>(
      ['receive', '--shm', name, '--range', '*:0-5', '--listen', '127.0.0.1:0', '--json'],
      {},
      { schema: receiveEvent },
    );
    const { port, sharedMemory } = await cli.event('listening');
    expect(sharedMemory).toBe(name);
    return { cli, to: `127.0.0.1:${port}` };
  };

  it('stores the wanted part, is removed at the end, and by the next receiver after a kill', async () => {
    const name = `rdmc-test-${randomBytes(8).toString('hex')}`;
    writeFileSync(join(scratch.path, 'file'), 'hello world');
    const killed = await start(name);
    expect((await castHere(join(scratch.path, 'file'), '--to', killed.to)).code).toBe(0);
    const records: SharedRecord[] = [];
    for await (const record of followShared(name)) records.push(record);
    expect(records).toMatchObject([{ type: 'file', path: 'file', ranges: [{ begin: 0, end: 5 }] }]);
    const text = readFileSync(join('/dev/shm', records[0]!.segment), 'latin1');
    expect(text).toBe('hello\0\0\0\0\0\0');
    killed.cli.child.kill('SIGKILL');
    await killed.cli.ended;
    expect(present(name)).toHaveLength(3);
    const next = await start(name);
    expect(present(name)).toEqual([`${name}.rdmc-owner`]);
    next.cli.child.kill('SIGTERM');
    expect((await next.cli.ended).code).toBe(0);
    expect(present(name)).toEqual([]);
  });
});

describe('rdmc receive --exec', () => {
  const listening = ['--listen', '127.0.0.1:0'];

  it('runs the command after each cast, and its exit code is the answer', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const script = 'xargs -0 -n1 echo got >> "$0"; test "$RDMC_CAST_UNCHANGED_FILES" = 0 || exit 9';
    const log = join(scratch.path, 'log');
    const receiver = await Receiver.start(join(scratch.path, 'r'), ['--exec', 'sh', '-c', script, log]);
    expect((await castHere(file, '--to', receiver.name)).code).toBe(0);
    expect(readFileSync(log, 'utf8')).toBe('got sample\n');
    const again = await castHere(file, '--to', receiver.name);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(
      /error ERR_RDMC_COMMAND_FAILED: .* ended with exit code 9; all files are stored/,
    );
    expect(await receiver.cli.event('failed')).toMatchObject({ code: 'ERR_RDMC_COMMAND_FAILED' });
    expect(receiver.left()).toEqual(['sample']);
  });

  it('refuses a command that does not exist at its start', async () => {
    const args = [...listening, '--dir', scratch.path, '--exec', 'no-such-command', '--json'];
    const { code, stderr, stdout } = await answer('receive', ...args);
    expect(stderr).toContain('"no-such-command" is not an executable file in PATH');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('ends the command with the receiver', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const script = 'echo began >&2; exec sleep 1000';
    const receiver = await Receiver.start(join(scratch.path, 'r'), ['--exec', 'sh', '-c', script]);
    const sender = cast([file, '--to', receiver.name]);
    await receiver.cli.until(({ stderr }) => stderr.includes('began'), 'the command');
    receiver.cli.signal('SIGTERM');
    expect((await receiver.cli.ended).code).toBe(0);
    expect((await sender.ended).code).not.toBe(0);
  });
});

describe('rdmc receive --log-json', () => {
  it('writes records to stderr, and nothing to stdout', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const cli = new Cli([
      'receive',
      '--listen',
      '127.0.0.1:0',
      '--dir',
      join(scratch.path, 'r'),
      '--mkdir',
      '--once',
      '--log-json',
    ]);
    const line = await cli.until(
      ({ stderr }) => /^(.*"event":"listening".*)\n/.exec(stderr)?.[1],
      'its address',
    );
    await castHere(file, '--to', `127.0.0.1:${JSON.parse(line).port}`);
    const { stdout, stderr } = await cli.ended;
    expect(stdout).toBe('');
    const events = stderr
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text).event);
    expect(events.filter((event) => event !== 'log')).toEqual(['listening', 'began', 'route', 'complete']);
  });

  it('writes an error as a record', async () => {
    const { code, stderr } = await answer('receive', '--dir', join(scratch.path, 'none'), '--log-json');
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ level: 'error', event: 'error', code: 'ERR_RDMC_NOT_FOUND' });
  });
});
