// node-gyp, without Node's own headers: those of Node-API are enough, and npm has installed them.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { BuildProblem } from './problem.mjs';

/** This checkout's own node-gyp, else the one inside of npm, which says where it is; else npx installs one. */
function command() {
  try {
    return [process.execPath, createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js')];
  } catch {
    const ofNpm = process.env.npm_config_node_gyp;
    return ofNpm && existsSync(ofNpm) ? [process.execPath, ofNpm] : ['npx', '--yes', 'node-gyp@12'];
  }
}

/** Settings of npm's user are settings of node-gyp too, which takes them before its arguments. */
function environment(flags) {
  const foreign = /^npm_(package_)?config_(node_gyp_)?(nodedir|dist_?url|target|arch|debug|jobs|portable)$/i;
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  const CXXFLAGS = [process.env.CXXFLAGS, ...flags].filter(Boolean).join(' ');
  // binding.gyp runs `node`: this one, which may not be the one in PATH, or the only one.
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`;
  return { ...Object.fromEntries(kept), CXXFLAGS, PATH };
}

/**
 * Runs one step of node-gyp; gives its output to `onOutput` as it comes.
 * @returns whether it succeeded, and all output
 */
export function nodeGyp(step, folder, { processor, portable, flags }, onOutput) {
  const [first, ...args] = command();
  const options = ['--nodedir', join(folder, 'gyp'), '--arch', processor, `--portable=${portable ? 1 : 0}`];
  const jobs = ['--jobs', String(availableParallelism())];
  const child = spawn(first, [...args, step, '-C', folder, ...options, ...jobs], {
    env: environment(flags),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const add = (data) => {
    output += data;
    onOutput(`${data}`);
  };
  child.stdout.setEncoding('utf8').on('data', add);
  child.stderr.setEncoding('utf8').on('data', add);
  return new Promise((resolve, reject) => {
    child.once('error', ({ code }) =>
      reject(new BuildProblem(`cannot run ${first} (${code}): install npm, which has node-gyp`)),
    );
    child.once('close', (status) => resolve({ succeeded: status === 0, output }));
  });
}
