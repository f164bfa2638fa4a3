// The first steps of `npm test` and `npm run demo` on a new machine: check the tools, install, build.
// Only uses Node, because nothing is installed yet.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DOWNLOAD, isLate, lateDownload } from './download.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const PROGRESS = fileURLToPath(new URL('./with-progress.mjs', import.meta.url));
const MINIMUM_NODE = [20, 19];
/** The addon supports RDMA devices only if this is installed. */
const IBVERBS_HEADER = '/usr/include/infiniband/verbs.h';
/** Debian packages by the command that they provide. */
const COMPILER = [
  ['g++', 'g++'],
  ['make', 'make'],
  ['python3', 'python3'],
];

/** Ends the process with one line of advice. */
export function stop(message) {
  console.error(message);
  process.exit(1);
}

/**
 * Runs a command in the repository; its progress is shown, and its output when it fails, or always with `loud`. A command that
 * downloads something has a time limit with `download`.
 */
export function run(label, command, args, { loud = false, download = false, env = {} } = {}) {
  if (loud) console.log(`── ${label}`);
  const progress = [process.execPath, PROGRESS, ...(download ? ['--download'] : []), label];
  const [program, ...rest] = [...(loud ? [] : progress), command, ...args];
  const { status, signal, error } = spawnSync(program, rest, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  });
  if (status !== 0) stop(`${label} failed: ${error?.message ?? `${command} ended with ${status ?? signal}`}`);
}

/** A command, or a file by its absolute path. */
function has(command) {
  if (command.startsWith('/')) return existsSync(command);
  return spawnSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).status === 0;
}

/** Packages that the addon needs for RDMA devices, by the file that they provide. */
export const IBVERBS = [[IBVERBS_HEADER, 'libibverbs-dev']];

/** Debian packages of commands or files that are not here. */
export function missingPackages(commands) {
  return [...new Set(commands.filter(([command]) => !has(command)).map(([, name]) => name))];
}

/** Debian packages that provide missing commands or files: installed as root, else named in one line. */
export function needCommands(purpose, commands) {
  const packages = missingPackages(commands);
  if (packages.length === 0) return;
  const line = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  if (process.getuid?.() !== 0 || !has('apt-get')) stop(`${purpose} needs: ${line}`);
  const options = { download: true, env: { DEBIAN_FRONTEND: 'noninteractive' } };
  run('apt-get update', 'apt-get', ['update', '-qq'], options);
  run(line, 'apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], options);
}

/** Runs apt-get; undefined if it did what it should, else what to add to a line about it. */
function aptProblem(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const result = spawnSync('apt-get', args, { ...DOWNLOAD, env, stdio: 'ignore' });
  if (result.status === 0) return undefined;
  return isLate(result) ? ` (${lateDownload(`apt-get ${args[0]}`)})` : '';
}

/** The same for optional packages: no failure if they cannot be installed. */
export function wantCommands(purpose, commands) {
  const packages = missingPackages(commands);
  if (packages.length === 0) return;
  const line = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  const may = process.getuid?.() === 0 && has('apt-get');
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...packages];
  const problem = may ? (aptProblem(['update', '-qq']) ?? aptProblem(install)) : '';
  if (problem !== undefined) console.log(`── ${purpose}: left out${problem}; for it: ${line}`);
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1])) return;
  stop(`Node.js ${MINIMUM_NODE.join('.')} or newer is needed; this is ${process.versions.node}`);
}

function lockDigest() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

/** Installs the packages of the lock file, if it has changed since the last time. */
function install() {
  const stamp = join(root, 'node_modules', '.rdmc-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockDigest()) return;
  run('npm ci', 'npm', ['ci', '--no-audit', '--no-fund'], { download: true });
  writeFileSync(stamp, lockDigest());
}

/** Everything that a build needs. */
export function prepare() {
  checkNode();
  if (process.platform === 'linux') {
    needCommands('Building the native addon', COMPILER);
    wantCommands('RDMA devices in the native addon', IBVERBS);
  }
  install();
}

/** A command that is installed here, without npx, whose start takes half a second of a processor. */
export function tool(name) {
  return join(root, 'node_modules', '.bin', name);
}

/** Arguments of turbo that build everything, and do these tasks too. */
export function turboArgs(...tasks) {
  return ['run', 'build', 'native', ...tasks, '--output-logs=errors-only'];
}

/** Part of turbo's cache key: builds that differ in it are different. */
export function turboEnv() {
  return { RDMC_BUILD_IBVERBS: has(IBVERBS_HEADER) ? '1' : '0' };
}

/** Everything until the packages are built. */
export function setUp() {
  prepare();
  // All output: with-progress.mjs shows the names of the tasks, and the output of those that fail.
  run('build', tool('turbo'), ['run', 'build', 'native', '--output-logs=new-only', '--log-order=stream'], {
    env: turboEnv(),
  });
}
