#!/usr/bin/env node
// Builds the native addon in native/. Also published as `rdmc-verbs-build`, for platforms without a
// prebuilt package. Has no effect outside Linux, where the pure packages still work. With --strict, as in the package's
// own build, a warning is an error; compilers that were not tested may have more warnings.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const native = join(dirname(fileURLToPath(import.meta.url)), '..', 'native');

function has(command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** The command that runs node-gyp: this checkout's own, else the one that npx finds. */
function nodeGyp() {
  try {
    return [process.execPath, createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js')];
  } catch {
    return ['npx', '--yes', 'node-gyp@12'];
  }
}

if (process.platform !== 'linux') {
  console.log(`@rdmc/verbs: no native addon on ${process.platform}; devices need Linux.`);
  process.exit(0);
}
if (!has(process.env.CXX ?? 'g++') && !has('clang++')) {
  console.error('@rdmc/verbs needs a C++20 compiler: apt-get install g++ make python3');
  process.exit(1);
}
if (!has('make') || !has('python3')) {
  console.error('@rdmc/verbs needs make and python3 to build: apt-get install make python3');
  process.exit(1);
}
/** Headers that came with this Node, so that nothing has to be downloaded. */
function headers() {
  const prefix = join(dirname(process.execPath), '..');
  return existsSync(join(prefix, 'include', 'node', 'node_api.h')) ? ['--nodedir', prefix] : [];
}

/**
 * The addon has RDMA devices if libibverbs' header is installed. Make does not detect that the header was installed
 * or removed, so a build with the other setting is repeated.
 */
function startAnewIfHeaderChanged() {
  const compiler = process.env.CXX ?? (has('g++') ? 'g++' : 'clang++');
  const input = '#include <infiniband/verbs.h>\n';
  const found = spawnSync(compiler, ['-E', '-x', 'c++', '-'], { input, stdio: ['pipe', 'ignore', 'ignore'] });
  const now = found.status === 0 ? 'with libibverbs' : 'without libibverbs';
  const build = join(native, 'build');
  const stamp = join(build, 'built');
  if (existsSync(build) && !(existsSync(stamp) && readFileSync(stamp, 'utf8') === now)) {
    rmSync(build, { recursive: true });
  }
  mkdirSync(build, { recursive: true });
  writeFileSync(stamp, now);
}

const strict = process.argv.includes('--strict');
const CXXFLAGS = [process.env.CXXFLAGS, strict ? '-Werror' : ''].filter(Boolean).join(' ');

startAnewIfHeaderChanged();
const [command, ...first] = nodeGyp();
const configured = existsSync(join(native, 'build', 'Makefile'));
const steps = configured ? [['build']] : [['configure'], ['build']];
for (const step of steps) {
  const run = spawnSync(
    command,
    [...first, ...step, ...headers(), '-C', native, '--jobs', String(availableParallelism())],
    {
      encoding: 'utf8',
      env: { ...process.env, CXXFLAGS },
    },
  );
  if (run.status === 0) continue;
  console.error(run.stdout, run.stderr);
  console.error('@rdmc/verbs: building the native addon failed; see above.');
  process.exit(1);
}
