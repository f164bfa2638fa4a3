// Package managers as a user runs them: what they read, how they install, how a program runs after it.
import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { installedTools } from './tools.mjs';

/**
 * @typedef {object} Manager
 * @property {string} name
 * @property {() => string} program the JavaScript file that node runs
 * @property {(registry: string) => Record<string, string>} files of the project, by name
 * @property {string[]} install arguments before the packages
 * @property {boolean} hasNodeModules without one, the manager runs the programs
 * @property {Record<string, string>} [unusable] packages that do not work with it, and why
 */

function npmProgram() {
  return realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
}

/** New packages are refused by default for some time by some managers, as a protection; these are seconds old. */
function berry(registry, linker) {
  const lines = [
    `nodeLinker: ${linker}`,
    `npmRegistryServer: "${registry}"`,
    'unsafeHttpWhitelist: ["127.0.0.1"]',
    'enableTelemetry: false',
    'enableGlobalCache: false',
    'enableScripts: false',
    'npmMinimalAgeGate: 0',
  ];
  return { '.yarnrc.yml': `${lines.join('\n')}\n`, 'yarn.lock': '' };
}

/** Plug'n'Play replaces Node's fs by its own, which reads from archives. */
const BUFFERS = "its node:fs has no encoding 'buffer'";
const SYNC = 'its FileHandle has no sync()';
const yarnBerry = () => join(installedTools(), '@yarnpkg/cli-dist/bin/yarn.js');

/** @type {Manager[]} */
export const MANAGERS = [
  {
    name: 'npm',
    program: npmProgram,
    files: () => ({}),
    install: ['install', '--ignore-scripts', '--no-audit', '--no-fund'],
    hasNodeModules: true,
  },
  {
    name: 'pnpm',
    program: () => join(installedTools(), 'pnpm/bin/pnpm.cjs'),
    files: () => ({ 'pnpm-workspace.yaml': 'minimumReleaseAge: 0\n' }),
    install: ['add', '--ignore-scripts'],
    hasNodeModules: true,
  },
  {
    name: 'yarn 1',
    program: () => join(installedTools(), 'yarn/bin/yarn.js'),
    files: () => ({}),
    install: ['add', '--ignore-scripts', '--non-interactive'],
    hasNodeModules: true,
  },
  {
    name: 'yarn 4',
    program: yarnBerry,
    files: (registry) => berry(registry, 'node-modules'),
    install: ['add'],
    hasNodeModules: true,
  },
  {
    name: "yarn 4 with Plug'n'Play",
    program: yarnBerry,
    files: (registry) => berry(registry, 'pnp'),
    install: ['add'],
    hasNodeModules: false,
    unusable: {
      '@rdmc/cast': BUFFERS,
      '@rdmc/tailwind': SYNC,
      '@rdmc/kv': SYNC,
      '@rdmc/training': SYNC,
    },
  },
];
