import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

const script = fileURLToPath(new URL('../with-progress.mjs', import.meta.url));

/** Runs a shell script with it; its status and output, without times. */
function run(commands, options = [], env = {}) {
  const args = [script, ...options, 'build', 'sh', '-c', commands];
  const result = spawnSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, ...env } });
  return { status: result.status, output: result.stdout.replace(/\d+\.\d s/g, 'T') };
}

/** The test's own limit ends it. */
const UNTIL = { timeout: 600_000, interval: 5 };

/** A named pipe that a command and what it starts hold open: whether they have begun, and whether all have ended. */
function holders() {
  const directory = mkdtempSync(join(tmpdir(), 'rdmc-progress-'));
  const path = join(directory, 'held');
  spawnSync('mkfifo', [path]);
  const held = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => {
    closeSync(held);
    rmSync(directory, { recursive: true });
  });
  /** Undefined: it is open, and nothing was written. */
  const read = () => {
    try {
      return readSync(held, Buffer.alloc(16));
    } catch (error) {
      if (error.code === 'EAGAIN') return undefined;
      throw error;
    }
  };
  return {
    commands: `exec 9>${path}; sleep 600 & echo begun >&9; wait`,
    begun: () => vi.waitUntil(() => read() > 0, UNTIL),
    ended: () => vi.waitUntil(() => read() === 0, UNTIL),
  };
}

const TURBO = `
echo '@rdmc/common:build: cache hit, suppressing logs 1'
echo '@rdmc/verbs:native: cache miss, executing 2'
echo '@rdmc/verbs:native: rdmc-verbs-build: compiling tcp, 2 of 5 parts (3 s)'`;

describe('the progress of a command', () => {
  it('is what turbo and the build of the addon say that they do', () => {
    expect(run(TURBO)).toEqual({
      status: 0,
      output: '── build … \n   @rdmc/verbs: native\n   compiling tcp, 2 of 5 parts (3 s)\n── build: ok (T)\n',
    });
  });

  it('is one line for a command that does not say anything', () => {
    expect(run('true')).toEqual({ status: 0, output: '── build … ok (T)\n' });
  });

  it('ends with all output of a command that fails', () => {
    expect(run('echo first; echo second >&2; exit 3')).toEqual({
      status: 3,
      output: expect.stringMatching(/failed \(T\)\n(first\nsecond|second\nfirst)/),
    });
  });

  it('ends with what to do, where a download takes longer than its limit', () => {
    const { status, output } = run('exec sleep 600', ['--download'], { RDMC_DOWNLOAD_LIMIT: '0.1' });
    expect(status).toBe(1);
    expect(output).toBe(
      '── build … failed (T)\nbuild took longer than T; check the network and the registry, or give it more time: RDMC_DOWNLOAD_LIMIT=SECONDS\n',
    );
  });

  it('ends with all that a download started, after its limit', async () => {
    const { commands, ended } = holders();
    expect(run(commands, ['--download'], { RDMC_DOWNLOAD_LIMIT: '0.5' }).status).toBe(1);
    await ended();
  });

  it('ends with all that a download started, by a signal', async () => {
    const { commands, begun, ended } = holders();
    const child = spawn(process.execPath, [script, '--download', 'build', 'sh', '-c', commands]);
    await begun();
    child.kill();
    expect(await once(child, 'exit')).toEqual([143, null]);
    await ended();
  });

  it('is that of the command, where a download fails or ends in time', () => {
    expect(run('echo refused; exit 3', ['--download'])).toEqual({
      status: 3,
      output: '── build … failed (T)\nrefused\n\n',
    });
    expect(run('true', ['--download'])).toEqual({ status: 0, output: '── build … ok (T)\n' });
  });

  it('ends with the output of the tasks that failed, where turbo names them', () => {
    const { status, output } = run(`${TURBO}
      echo '@rdmc/mesh:build: all is well'; echo '@rdmc/verbs:native: error: no such thing'
      echo ' Failed:    @rdmc/verbs#native'; exit 1`);
    expect(status).toBe(1);
    expect(output).toContain('error: no such thing');
    expect(output).not.toContain('all is well');
  });
});
