// Compiles the fake libibverbs, once for each state of its sources, and prints its path. Ends with 2 where
// <infiniband/verbs.h> or a compiler is missing.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HEADER_MISSING = 2;
const LOOK_EVERY_MS = 50;
/** A process that compiles for longer has ended. */
const LONGEST_MS = 300_000;
const sources = dirname(fileURLToPath(import.meta.url));
const files = readdirSync(sources).filter((name) => /\.(cc|h|map)$/.test(name));
const compiler = process.env.CXX ?? 'g++';

const probe = spawnSync(compiler, ['-E', '-x', 'c++', '-'], { input: '#include <infiniband/verbs.h>\n' });
if (probe.status !== 0) {
  console.error('a C++ compiler and <infiniband/verbs.h> are needed (Debian: g++ libibverbs-dev)');
  process.exit(HEADER_MISSING);
}

const hash = createHash('sha256');
for (const name of files) hash.update(readFileSync(join(sources, name)));
const folder = join(
  sources,
  '..',
  '..',
  '..',
  'native',
  'build',
  'fake-ibverbs',
  hash.digest('hex').slice(0, 16),
);
const library = join(folder, 'libibverbs.so.1');
const lock = `${folder}.lock`;

/** As one unit: the headers take most of the time. */
function compile() {
  // The result is renamed when it is complete.
  const own = `${library}.${process.pid}`;
  const flags = ['-std=gnu++20', '-O1', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-pthread'];
  const linking = ['-Wl,-soname,libibverbs.so.1', `-Wl,--version-script=${join(sources, 'versions.map')}`];
  const names = files.filter((name) => name.endsWith('.cc'));
  const input = names.map((name) => `#include "${join(sources, name)}"\n`).join('');
  const args = [...flags, '-x', 'c++', '-', '-x', 'none', ...linking, '-o', own];
  const run = spawnSync(compiler, args, { input, stdio: ['pipe', 2, 2] });
  if (run.status === 0) renameSync(own, library);
  return run.status === 0;
}

/** Whether this process compiles; otherwise another one does, or has ended in the middle of it. */
function isOurs() {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return Date.now() - statSync(lock, { throwIfNoEntry: false })?.mtimeMs > LONGEST_MS;
  }
}

mkdirSync(folder, { recursive: true });
// Many tests need it at once when it is missing.
while (!existsSync(library)) {
  if (!isOurs()) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
    continue;
  }
  const done = existsSync(library) || compile();
  rmSync(lock, { recursive: true, force: true });
  if (!done) process.exit(1);
}
console.log(library);
