import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it, vi } from 'vitest';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const DEVICE = process.env.RDMC_TEST_DEVICE ?? 'soft';
const HANGS_MS = 60_000;

async function failure(...args: string[]): Promise<{ code: number; stderr: string }> {
  return promisify(execFile)('node', [MAIN, ...args]).then(
    () => ({ code: 0, stderr: '' }),
    (error) => error,
  );
}

function isAlive(pid: number): boolean {
  return readOrEmpty(`/proc/${pid}/cmdline`).includes('worker-main');
}

/** Empty if the process or thread has ended. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function workersOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readOrEmpty(`/proc/${pid}/task/${task}/children`).split(' '))
    .map(Number)
    .filter((child) => child > 0 && isAlive(child));
}

describe('rdmc-training', () => {
  it('trains with one worker, and with parameters of one value', async () => {
    const args = ['--workers', '1', '--parameters', '1', '--steps', '3', '--device', DEVICE, '--json'];
    const { stdout } = await promisify(execFile)('node', [MAIN, ...args]);
    const { records, log, losses } = JSON.parse(stdout);
    expect(records.length).toBe(3);
    expect(losses).toEqual([]);
    expect(log).toEqual({ replicas: 1, backupsAtStart: [1], backupsAtEnd: [1], recovered: 3 });
  });

  it('ends with 1, and names the cause, where the disk of standard output is full', () => {
    const full = openSync('/dev/full', 'w');
    const { stderr, status } = spawnSync('node', [MAIN, '--help'], {
      encoding: 'utf8',
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    expect(stderr).toBe('error ENOSPC: cannot write standard output: no space left on device\n');
    expect(status).toBe(1);
  });

  it.each([
    ['--workers 0', 'whole number from 1 to 32'],
    ['--steps 3 --kill-at 4', 'ERR_RDMC_TRAINING_OPTION: --kill-at 4 is after the last step, 3'],
    ['--workers 1 --kill-at 1', 'ERR_RDMC_TRAINING_OPTION: --kill-at needs --workers 2'],
    ['--step 3', "unknown option '--step'"],
    ['--device none --workers 1', 'ERR_RDMC_UNKNOWN_DEVICE'],
  ])('ends with 2: %s', async (options, message) => {
    const { code, stderr } = await failure(...options.split(' '));
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('explains a step in its help', async () => {
    const { stdout } = await promisify(execFile)('node', [MAIN, '--help']);
    expect(stdout).toContain('The trainer multicasts the parameters to all workers');
    expect(stdout).toContain('Exit codes:');
  });

  it('leaves no process and no file when it is killed with -9', async () => {
    const temporary = temporaryDirectory('rdmc-training-test');
    const args = ['--workers', '2', '--steps', '10000', '--kill-at', '1', '--device', DEVICE];
    const env = { ...process.env, TMPDIR: temporary };
    const command = spawn('node', [MAIN, ...args], { stdio: ['ignore', 'pipe', 'ignore'], env });
    for await (const line of createInterface({ input: command.stdout })) if (line.includes('lost')) break;
    const workers = workersOf(command.pid!);
    expect(workers.length).toBe(1);
    expect(readdirSync(temporary).length).toBe(1);
    command.kill('SIGKILL');
    await once(command, 'exit');
    const left = () => [...workers.filter(isAlive), ...readdirSync(temporary)];
    await vi.waitFor(() => expect(left()).toEqual([]), { timeout: HANGS_MS, interval: 50 });
  });
});
