import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory, until } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { missingPackages } from '../src/index.js';

// These run the command as it is installed: build first. They start machines, which takes its time, and installs
// packages where it may; so they run where that has happened already, or is asked for.
const BIN = fileURLToPath(new URL('../bin/roce-vm', import.meta.url));
const ready =
  process.platform === 'linux' && existsSync('/usr/bin/dpkg-query') && missingPackages().length === 0;
const asked = process.env.RDMC_TEST_ROCE_VM === '1';
const machines = describe.skipIf(!ready && !asked);
/** Each of these boots a machine of its own, so that only `npm run test:roce` runs them, for every push. */
const more = it.skipIf(!asked);
const MORE = '[skipped: set RDMC_TEST_ROCE_VM=1 to run it]';

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(BIN, args, { encoding: 'utf8' });
  return { status, stdout, stderr };
}

/**
 * Whether a process has an emulator: its directory has that process's id in its name. Others may run as well. `setpriv`, which
 * has the same arguments, does not count: it becomes the emulator, and has no arguments for a moment meanwhile.
 */
function hasEmulator(owner: number): boolean {
  const emulator = new RegExp(`^[^\\0]*qemu.*/roce-vm-${owner}-`, 's');
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && emulator.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    } catch {
      return false;
    }
  });
}

describe('mistakes', () => {
  it('are told from results of the command by their exit code', () => {
    expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('roce-vm run') });
    expect(run()).toMatchObject({ status: 125, stderr: expect.stringContaining('no command given') });
    expect(run('fly')).toMatchObject({ status: 125, stderr: expect.stringContaining('no command fly') });
    expect(run('run')).toMatchObject({ status: 125, stderr: expect.stringContaining('-- COMMAND') });
    expect(run('run', '--devices', '99', '--', 'true')).toMatchObject({ status: 125 });
  });
});

machines('a machine (needs the packages, or root and RDMC_TEST_ROCE_VM=1)', () => {
  more(`gives back output, exit code and files of the shared directory, not others ${MORE}`, () => {
    const shared = temporaryDirectory('roce-vm-shared');
    const script = [
      'echo out; echo err >/dev/stderr',
      'cat /sys/class/infiniband/*/ports/1/state /sys/class/infiniband/rxe1/ports/1/gids/1',
      'cat /sys/class/net/e1/queues/rx-0/rps_cpus /sys/class/net/p1/queues/rx-0/rps_cpus',
      'echo "$A|$1"; head -c 3000000 /dev/zero | tr "\\0" x; echo',
      `echo kept >${shared}/file; echo lost >${tmpdir()}/roce-vm-lost`,
      'exit 7',
    ].join('\n');
    const options = ['--devices', '2', '--share', shared, '--env', "A=it's $HOME", '--loss', '1%'];
    const done = spawnSync(BIN, ['run', ...options, '--', 'sh', '-c', script, 'sh', 'two  words'], {
      encoding: 'utf8',
      maxBuffer: 16 << 20,
    });
    expect(done).toMatchObject({ status: 7, stderr: 'err\n' });
    const lines = done.stdout.split('\n');
    expect(lines.slice(0, 3)).toEqual(['out', '4: ACTIVE', '4: ACTIVE']);
    expect(lines[3]).toMatch(/ffff:0a00:0002$/);
    expect(lines.slice(4, 6)).toEqual(['3', '3']);
    expect(lines[6]).toBe("it's $HOME|two  words");
    expect(lines[7]).toHaveLength(3_000_000);
    expect(readFileSync(join(shared, 'file'), 'utf8')).toBe('kept\n');
    expect(existsSync(join(tmpdir(), 'roce-vm-lost'))).toBe(false);
  });

  more(`that ends without a result is a failure, and its console says why ${MORE}`, () => {
    const done = run('run', '--devices', '0', '--', 'sh', '-c', 'echo c >/proc/sysrq-trigger; sleep 100');
    expect(done.status).toBe(125);
    expect(done.stderr).toContain('ERR_RDMC_ROCE_VM_NO_RESULT');
    expect(done.stderr).toContain('Kernel panic');
  });

  async function endedBy(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL', when: 'running' | 'starting') {
    const child = spawn(BIN, ['run', '--devices', '0', '--', 'sh', '-c', 'echo on; sleep 1000'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGTERM'));
    if (when === 'running') await once(child.stdout, 'data');
    else await until(() => hasEmulator(child.pid!) || child.exitCode !== null, 20);
    expect(hasEmulator(child.pid!)).toBe(true);
    child.kill(signal);
    const [code] = await once(child, 'exit');
    if (signal !== 'SIGKILL') expect(code).toBe(signal === 'SIGINT' ? 130 : 143);
    while (hasEmulator(child.pid!)) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  it.each(['SIGINT', 'SIGKILL'] as const)('ends with its process, ended by %s while it starts', (signal) =>
    endedBy(signal, 'starting'),
  );
  more(`ends with its process, ended by SIGTERM while it runs ${MORE}`, () => endedBy('SIGTERM', 'running'));

  more(`at its time limit ends with 124 ${MORE}`, () => {
    const done = run('run', '--devices', '0', '--timeout', '3', '--', 'sleep', '1000');
    expect(done).toMatchObject({ status: 124, stderr: expect.stringContaining('time limit of 3 s') });
  });
});
