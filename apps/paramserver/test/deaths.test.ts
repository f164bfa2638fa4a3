import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
// The built file, because its processes run the file beside it.
import { run } from '../dist/index.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const DEVICE = process.env.RDMC_TEST_DEVICE ?? 'soft';
const SETTINGS = {
  protocol: 'push',
  workers: 1,
  iterations: 3,
  blockBytes: 1 << 20,
  slots: 8,
  tensors: 100,
} as const;

/** The members of a run that a process has started. */
function membersOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' '))
    .map(Number)
    .filter((child) => child > 0 && commandOf(child).includes('member.js'));
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`);
}

/** Empty if the process or thread has ended since its directory was listed. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

describe('a run', () => {
  it('a member that dies between two orders fails it, and no process is left', {
    timeout: 240_000,
  }, async () => {
    const failed = run(
      SETTINGS,
      { device: DEVICE },
      {
        progress: () => {},
        joined: () => {},
        iteration: () => {
          for (const pid of membersOf(process.pid).slice(-1)) process.kill(pid, 'SIGKILL');
        },
      },
    ).then(
      () => undefined,
      (error) => error,
    );
    expect(await failed).toMatchObject({ code: 'ERR_RDMC_PARAMSERVER_DIED' });
    expect(membersOf(process.pid)).toEqual([]);
  });

  it('whose command is killed leaves no process', { timeout: 240_000 }, async () => {
    const args = ['--workers', '1', '--iterations', '1000', '--tensors', '100', '--device', DEVICE];
    const command = spawn('node', [MAIN, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
    for await (const line of createInterface({ input: command.stdout })) {
      if (line.includes('iteration 0')) break;
    }
    const members = membersOf(command.pid!);
    expect(members.length).toBe(2);
    command.kill('SIGKILL');
    await once(command, 'exit');
    await vi.waitFor(
      () => expect(members.filter((pid) => commandOf(pid).includes('member.js'))).toEqual([]),
      {
        timeout: 60_000,
        interval: 50,
      },
    );
  });
});
