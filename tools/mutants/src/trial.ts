import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onlyTimedOut } from './failures.js';
import type { Mutant } from './mutant.js';

export interface Trial {
  readonly passed: boolean;
  /** It did not end within its limit, or all failures are time-outs of tests. */
  readonly timedOut: boolean;
  readonly seconds: number;
  readonly output: string;
}

const KEPT_OUTPUT_CHARACTERS = 20_000;
/** Beside this file, in the build. */
const REPORTER = fileURLToPath(new URL('failure-reporter.js', import.meta.url));

/** Builds the changed part of a copy: the mutant's package, without declarations, or the native addon. */
export function build(root: string, mutant: Mutant, limitMs: number): Promise<Trial> {
  const folder = mutant.package;
  if (mutant.language === 'C++') {
    return run(root, folder, [process.execPath, join('scripts', 'build-native.mjs')], limitMs);
  }
  return run(root, folder, [tool(root, 'tsup'), '--no-dts', '--silent'], limitMs);
}

/** Runs test files, one package after the other, until one fails. */
export async function test(root: string, files: readonly string[], limitMs: number): Promise<Trial> {
  let seconds = 0;
  let last: Trial | undefined;
  for (const [folder, own] of byPackage(files)) {
    const names = own.map((file) => relative(folder, file));
    last = await runTests(root, folder, names, limitMs - seconds * 1000);
    seconds += last.seconds;
    if (!last.passed) break;
  }
  if (last === undefined) throw new Error('a mutant needs a test file');
  return { ...last, seconds };
}

async function runTests(root: string, folder: string, names: string[], limitMs: number): Promise<Trial> {
  const failures = join(root, 'mutant-failures.json');
  rmSync(failures, { force: true });
  const reporters = ['--reporter=default', `--reporter=${REPORTER}`];
  const command = [tool(root, 'vitest'), 'run', '--bail=1', ...reporters, ...names];
  const trial = await run(root, folder, command, limitMs, { RDMC_MUTANTS_FAILURES: failures });
  if (trial.passed || trial.timedOut || !existsSync(failures)) return trial;
  return { ...trial, timedOut: onlyTimedOut(JSON.parse(readFileSync(failures, 'utf8')) as string[]) };
}

function tool(root: string, name: string): string {
  return join(root, 'node_modules', '.bin', name);
}

function byPackage(files: readonly string[]): Map<string, string[]> {
  const packages = new Map<string, string[]>();
  for (const file of files) {
    const folder = file.split('/').slice(0, 2).join('/');
    packages.set(folder, [...(packages.get(folder) ?? []), file]);
  }
  return packages;
}

/** One command in its own process group, which is ended with it: a test that hangs may have children. */
async function run(
  root: string,
  folder: string,
  command: readonly string[],
  limitMs: number,
  env: Record<string, string> = {},
): Promise<Trial> {
  const [name, ...args] = command as [string, ...string[]];
  const started = performance.now();
  const child = spawn(name, args, {
    cwd: join(root, folder),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, FORCE_COLOR: '0', ...env },
  });
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk).slice(-KEPT_OUTPUT_CHARACTERS);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  let timedOut = false;
  const timer = setTimeout(
    () => {
      timedOut = true;
      endGroup(child.pid);
    },
    Math.max(1, limitMs),
  );
  const stop = (): void => endGroup(child.pid);
  // Before the copy is removed: what still runs would write into it.
  process.prependOnceListener('exit', stop);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  process.off('exit', stop);
  endGroup(child.pid);
  return { passed: code === 0, timedOut, seconds: (performance.now() - started) / 1000, output };
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended.
  }
}
