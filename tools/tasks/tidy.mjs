// clang-tidy over packages/verbs/native: its checks, and why others are off, are in .clang-tidy there.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { addonFlags } from '../../packages/verbs/test/native/variant.mjs';
import { root } from './setup.mjs';

const NATIVE = join(root, 'packages', 'verbs', 'native');

/** Findings of clang-tidy for a unit; empty if there are none. */
function tidyUnit(unit) {
  const child = spawn(
    'clang-tidy',
    ['--quiet', unit, '--', '-std=gnu++20', '-pthread', '-I.', ...addonFlags()],
    {
      cwd: NATIVE,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  child.stdout.on('data', (text) => (output += text));
  child.stderr.on('data', (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code === 0 ? '' : output));
  });
}

/** Findings of all units; every source file is in one of them. */
export async function tidy() {
  const waiting = readdirSync(NATIVE).filter((name) => /^unit_.*\.cc$/.test(name));
  const findings = [];
  const worker = async () => {
    for (let unit = waiting.shift(); unit; unit = waiting.shift()) findings.push(await tidyUnit(unit));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return findings.filter((text) => text !== '').join('\n');
}
