/** Key files that are pipes. Needs the built dist. */
import { readdirSync, readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@rdmc/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { newKey, parseKey } from '../src/keys/key.js';
import { readKeyFile } from '../src/keys/key-file.js';
import { Cli } from './support/cli.js';
import { becomeWriter, newPipe } from './support/pipe.js';

const POLL_MS = 20;

let pipe: string;
beforeEach(() => {
  pipe = newPipe();
});

/** Whether the process has the pipe open. */
function holds(pid: number): boolean {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).some((name) => {
    try {
      return readlinkSync(join(folder, name)) === pipe;
    } catch {
      return false;
    }
  });
}

describe('a key file that is a pipe', () => {
  it('gives the key, also where its writer comes later and writes it in parts', async () => {
    const key = newKey();
    const read = readKeyFile(pipe);
    await writeFile(pipe, [key.slice(0, 10), key.slice(10), '\n']);
    expect(await read).toEqual(parseKey(key, 'here'));
  });

  it.each([
    ['more than a key', 'a'.repeat(5000), 'has more than 4096 bytes, so it is not a key file'],
    ['nothing', '', 'is empty'],
  ])('is refused where it has %s', async (_, content, message) => {
    const refused = expect(readKeyFile(pipe)).rejects.toMatchObject({
      code: 'ERR_RDMC_INVALID_KEY',
      exitCode: 2,
      message: expect.stringContaining(message),
    });
    // The reader closes a pipe with too much, perhaps before all of it is written.
    await writeFile(pipe, content).catch(() => {});
    await refused;
  });

  it('is not waited for after an abort', async () => {
    const stop = new AbortController();
    const read = readKeyFile(pipe, 'other', stop.signal);
    stop.abort(new Error('enough'));
    await expect(read).rejects.toThrow('enough');
  });

  const commands = [
    ['cast', 130, ['cast', '/dev/null', '--to', '127.0.0.1:1']],
    ['fetch', 130, ['fetch', '127.0.0.1:1/name', '--dir', '/tmp']],
    ['receive', 130, ['receive', '--dir', '/tmp']],
    ['serve', 130, ['serve', '/tmp']],
  ] as const;

  it.each(commands)('does not keep rdmc %s from ending with %i after Ctrl-C', async (_, code, args) => {
    const cli = new Cli([...args, '--key-file', pipe]);
    await until(() => holds(cli.child.pid!), POLL_MS);
    cli.child.kill('SIGINT');
    expect(await cli.ended).toMatchObject({ code, stderr: expect.stringContaining('interrupted by SIGINT') });
  });

  it('with a writer that does not write, SIGTERM ends rdmc cast with 143', async () => {
    const cli = new Cli(['cast', '/dev/null', '--to', '127.0.0.1:1', '--key-file', pipe]);
    await becomeWriter(pipe);
    cli.child.kill('SIGTERM');
    expect((await cli.ended).code).toBe(143);
  });
});

describe('another file that is a pipe', () => {
  it('does not keep a second signal from ending the process at once', async () => {
    const cli = new Cli(['cast', '/dev/null', '--hostfile', pipe]);
    await becomeWriter(pipe);
    // Two different ones are never made one. Each thread of the process may take one, so their order is open.
    cli.child.kill('SIGINT');
    cli.child.kill('SIGTERM');
    expect(await cli.ended).toMatchObject({ code: null, signal: expect.stringMatching(/^SIG(INT|TERM)$/) });
  });
});
