// What a build needs. Each check throws a BuildProblem that says what is missing, and what to do.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { BuildProblem } from './problem.mjs';

/** The processors that the C++ was written for: it relies on their order of copies. */
const PROCESSORS = ['x64', 'arm64'];

export function has(command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** Node's own report has the version of glibc, where there is one. */
function hasGlibc() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime !== undefined;
}

/** @param {string} processor of the addon */
export function needPlatform(processor) {
  if (!PROCESSORS.includes(processor)) {
    throw new BuildProblem(
      `the addon is for ${PROCESSORS.join(' and ')}, not for ${processor}: use such a machine`,
    );
  }
  if (!hasGlibc()) {
    throw new BuildProblem(
      'the addon needs glibc, and this system has another libc (Alpine has musl): use an image with glibc, such as node:24-slim',
    );
  }
}

/** @returns the C++ compiler */
export function needCompiler() {
  const asked = process.env.CXX;
  const found = (asked ? [asked] : ['g++', 'clang++']).find(has);
  if (found) return found;
  if (asked) throw new BuildProblem(`CXX is ${asked}, which does not run: set it to a C++20 compiler`);
  throw new BuildProblem('there is no C++20 compiler: apt-get install g++ make python3');
}

export function needTools() {
  const missing = ['make', 'python3'].filter((tool) => !has(tool));
  if (missing.length > 0)
    throw new BuildProblem(`there is no ${missing.join(' and no ')}: apt-get install ${missing.join(' ')}`);
}

/** The packages of the headers; npm has installed them with this package. */
export function needHeaders(folder) {
  const require = createRequire(join(folder, 'binding.gyp'));
  for (const header of ['node-api-headers/include/node_api.h', 'node-addon-api/napi.h']) {
    try {
      require.resolve(header);
    } catch {
      const name = header.slice(0, header.indexOf('/'));
      throw new BuildProblem(`the package ${name} is missing, which has headers: npm install ${name}`);
    }
  }
}

/** The folder into which a build writes. */
export function needFolder(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new BuildProblem(`cannot write to ${folder} (${error.code}): run it as the owner of that folder`);
  }
}
