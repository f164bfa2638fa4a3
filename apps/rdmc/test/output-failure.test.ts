/** Standard output or stderr that cannot be written. Needs the built dist. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { mayMount, smallDisk, until } from '@rdmc/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Receiver, sampleFile, withoutKept } from './support/casting.js';
import { main, Scratch } from './support/cli.js';
import { BYTES, FASTER } from './support/disturbed.js';
import { castHere } from './support/here.js';

const POLL_MS = 20;
const FULL = '/dev/full';
const LINE = 'error ENOSPC: cannot write standard output: no space left on device\n';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

/** Runs the command with its output in a file of this path. */
function begin(path: string, ...args: readonly string[]) {
  const output = openSync(path, 'a');
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', output, 'pipe'] });
  closeSync(output);
  onTestFinished(() => void child.kill('SIGKILL'));
  return { exited: once(child, 'exit'), stderr: text(child.stderr!) };
}

describe('where the disk of standard output is full', () => {
  it.each([[['schedule', '--nodes', '4']], [['schedule', '--nodes', '4', '--json']], [['help']]])(
    'rdmc %j ends with 5, and says so once',
    async (args) => {
      const { exited, stderr } = begin(FULL, ...args);
      expect(await exited).toEqual([5, null]);
      expect(await stderr).toBe(LINE);
    },
  );

  it('rdmc receive --json ends with 5, with nothing left', async () => {
    const args = ['receive', '--listen', '127.0.0.1:0', '--dir', scratch.path, '--json'];
    const { exited, stderr } = begin(FULL, ...args);
    expect(await exited).toEqual([5, null]);
    expect(await stderr).toBe(LINE);
    expect(scratch.left()).toEqual([]);
  });

  const mounts = process.env.RDMC_TEST_NO_MOUNT === undefined && mayMount();
  it.skipIf(!mounts)(
    'in the middle of a cast, the receiver cleans up and tells the sender (needs root, RDMC_TEST_NO_MOUNT unset)',
    async () => {
      const page = 4096;
      const log = join(smallDisk(`size=${page}`), 'log');
      const directory = scratch.path;
      writeFileSync(log, '');
      const args = ['receive', '--listen', '127.0.0.1:0', '--dir', directory, '--json'];
      const { exited, stderr } = begin(log, ...args);
      await until(() => readFileSync(log, 'utf8').endsWith('\n'), POLL_MS);
      const { port } = JSON.parse(readFileSync(log, 'utf8'));
      // A part of the next event has room.
      appendFileSync(log, '\n'.repeat(page - statSync(log).size - 10));
      const file = sampleFile(join(new Scratch().path, 'sample'), BYTES);
      const sent = await castHere(file, '--to', `127.0.0.1:${port}`, '--bandwidth-limit', FASTER);
      expect([sent.code, sent.stderr]).toEqual([4, expect.stringContaining('the receiver was closed')]);
      expect(await exited).toEqual([5, null]);
      expect(await stderr).toBe(LINE);
      expect(withoutKept(readdirSync(directory))).toEqual([]);
    },
  );
});

describe('where nobody reads stderr', () => {
  it('a receiver with -v survives a stranger, stores a cast, and ends with 130 after Ctrl-C', async () => {
    const receiver = await Receiver.start(join(scratch.path, 'in'), ['--verbose']);
    receiver.cli.child.stderr!.destroy();
    const stranger = connect(receiver.port, '127.0.0.1');
    stranger.on('error', () => {}).end('GET / HTTP/1.0\r\n\r\n');
    await once(stranger.resume(), 'close');
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    expect((await castHere(file, '--to', receiver.name)).code).toBe(0);
    expect(receiver.visible()).toEqual(['sample']);
    receiver.cli.child.kill('SIGINT');
    expect((await receiver.cli.ended).code).toBe(130);
  });
});
