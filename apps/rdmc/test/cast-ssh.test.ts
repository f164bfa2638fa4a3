import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { cast, castEvents, finishedOf, sampleFile } from './support/casting.js';
import { answer, isRunning, main, Scratch, untilGone } from './support/cli.js';
import { castHere } from './support/here.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

/**
 * Replaces ssh: each "host", an address of this machine, has a separate home directory, and a shell runs the command, as
 * with ssh.
 */
function fakeSsh(before = ''): string {
  const path = join(scratch.path, 'fake-ssh');
  const homes = join(scratch.path, 'homes');
  mkdirSync(homes, { recursive: true });
  writeFileSync(
    path,
    `#!/bin/sh\nhost=$1; shift\nmkdir -p ${homes}/$host; cd ${homes}/$host\n${before}\necho "welcome to $host" >&2\nexec sh -c "exec $*"\n`,
    { mode: 0o755 },
  );
  return path;
}

function sshArgs(shell: string, hosts: string): string[] {
  return ['--to', hosts, '--ssh', '--remote-shell', shell, '--remote-command', `${process.execPath} ${main}`];
}

const HOSTS = '127.0.0.1,127.0.0.2';
const home = (host: string): string => join(scratch.path, 'homes', host);

describe('rdmc cast --ssh', () => {
  it('starts receivers, casts to them, and ends them', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1_000_003);
    const ended = await castHere(
      ...[file, ...sshArgs(fakeSsh(), HOSTS), '--remote-dir', 'in here $HOME', '--mkdir'],
    );
    expect(ended.code).toBe(0);
    for (const host of HOSTS.split(',')) {
      expect(ended.stderr).toContain(`${host}: welcome to ${host}\n`);
      expect(readFileSync(join(home(host), 'in here $HOME/sample')).equals(readFileSync(file))).toBe(true);
    }
    const finished = finishedOf(ended);
    expect(finished.outcome).toBe('all');
    expect(finished.receivers.map(({ name }) => name)).toEqual(HOSTS.split(','));
    const pids = castEvents(ended).flatMap((event) => (event.event === 'started' ? [event.pid] : []));
    expect(pids).toHaveLength(2);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('keeps the key off every command line and out of the environment', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const seen = join(scratch.path, 'seen');
    const shell = fakeSsh(`echo "$*" >> ${seen}; env >> ${seen}`);
    expect((await castHere(file, ...sshArgs(shell, '127.0.0.1'))).code).toBe(0);
    expect(readFileSync(seen, 'utf8')).toContain('receive --controlled');
    expect(readFileSync(seen, 'utf8')).not.toMatch(/[0-9a-f]{64}|RDMC_KEY/);
  });

  it('works with any program that takes a host and a command', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const there = join(scratch.path, 'there');
    const shell = `sh -c 'shift; exec "$@"' sh`;
    const ended = await castHere(
      ...[file, ...sshArgs(shell, '127.0.0.2'), '--remote-dir', there, '--mkdir', '--retries', '1'],
    );
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(there)).toEqual(['sample']);
  });

  it('names a host that does not start, with the words of the remote shell; the others get the file', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const shell = fakeSsh(
      'if [ $host = 127.0.0.2 ]; then echo "Permission denied (publickey)." >&2; exit 255; fi',
    );
    const { code, stdout, stderr } = await answer('cast', file, ...sshArgs(shell, HOSTS));
    expect(code).toBe(6);
    expect(stdout).toMatch(/^1 of 2 receivers has 1 file/m);
    expect(stderr).toMatch(
      /^ {2}127\.0\.0\.2 {2}ERR_RDMC_REMOTE_START: Permission denied \(publickey\)\. \(.*fake-ssh ended with 255\)$/m,
    );
  });

  it('says what a receiver says that cannot begin', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const ended = await castHere(
      ...[file, ...sshArgs(fakeSsh(), '127.0.0.1'), '--remote-dir', '/no/such/directory'],
    );
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain('error ERR_RDMC_REMOTE_START: 127.0.0.1: ERR_RDMC_NOT_FOUND: ');
    expect(ended.stderr).toContain('/no/such/directory');
  });

  it.each([
    ['SIGINT', 130],
    ['SIGKILL', null],
  ] as const)('leaves no receiver and no visible file behind after %s', async (signal, code) => {
    const file = sampleFile(join(scratch.path, 'sample'), 16_000_000);
    const sender = cast([file, ...sshArgs(fakeSsh(), HOSTS), '--bandwidth-limit', '500KB/s']);
    const pids = (await sender.several('started', 2)).map(({ pid }) => pid);
    await sender.event('progress', ({ receivers }) => receivers.some(({ storedBytes }) => storedBytes > 0));
    expect(pids.filter(isRunning)).toEqual(pids);
    sender.child.kill(signal);
    expect((await sender.ended).code).toBe(code);
    await untilGone(pids);
    for (const host of HOSTS.split(','))
      expect(readdirSync(home(host)).filter((name) => !name.startsWith('.rdmc-cast-kept-'))).toEqual([]);
  });
});
