import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory, until } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';

/** A look reads the command line of each process of the machine. */
const LOOK_EVERY_MS = 100;
const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** Processes whose command line names a folder; one that ends meanwhile names nothing. */
function processesIn(folder: string): string[] {
  return readdirSync('/proc').filter((id) => {
    if (!/^\d+$/.test(id)) return false;
    try {
      return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(folder);
    } catch {
      return false;
    }
  });
}

function start(args: readonly string[]): { chaos: ChildProcess; folder: string } {
  const folder = temporaryDirectory('chaos-interrupt');
  const chaos = spawn(process.execPath, [PROGRAM, '--runs', '1000', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  });
  onTestFinished(() => {
    chaos.kill('SIGKILL');
    for (const id of processesIn(folder)) process.kill(Number(id), 'SIGKILL');
  });
  return { chaos, folder };
}

it.each([
  { args: ['--scenario', 'primary'], signal: 'SIGINT' as const, code: 130, members: 3 },
  { args: ['--kv', '--scenario', 'kv-server'], signal: 'SIGTERM' as const, code: 143, members: 4 },
  { args: ['--group', '--scenario', 'group-member'], signal: 'SIGINT' as const, code: 130, members: 3 },
])(
  '$signal in a run of $args leaves no process and no file behind',
  async ({ args, signal, code, members }) => {
    const { chaos, folder } = start(args);
    let said = '';
    chaos.stderr!.on('data', (text: Buffer) => {
      said += text;
    });
    const exited = once(chaos, 'close');
    await until(() => processesIn(folder).length >= members || chaos.exitCode !== null, LOOK_EVERY_MS);
    chaos.kill(signal);
    expect(await exited).toEqual([code, null]);
    expect(said).toMatch(/interrupted in the run of seed \d+/);
    expect(processesIn(folder)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  },
);
