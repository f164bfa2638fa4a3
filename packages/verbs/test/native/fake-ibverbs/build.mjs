// Compiles the fake libibverbs, once for each state of its sources, and prints its path. Ends with 2 where
// <infiniband/verbs.h> or a compiler is missing.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HEADER_MISSING = 2;
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

if (!existsSync(library)) {
  mkdirSync(folder, { recursive: true });
  // Several tests may build at once: each writes its own file, which is renamed when it is complete.
  const own = `${library}.${process.pid}`;
  const flags = ['-std=gnu++20', '-O2', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-pthread'];
  const linking = ['-Wl,-soname,libibverbs.so.1', `-Wl,--version-script=${join(sources, 'versions.map')}`];
  const inputs = files.filter((name) => name.endsWith('.cc')).map((name) => join(sources, name));
  const run = spawnSync(compiler, [...flags, ...linking, ...inputs, '-o', own], { stdio: ['ignore', 2, 2] });
  if (run.status !== 0) process.exit(1);
  renameSync(own, library);
}
console.log(library);
