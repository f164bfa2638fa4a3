// Parts of a test run, in parallel: each is one command, whose output is shown if it fails.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { failureDigest } from './digest.mjs';
import { root } from './setup.mjs';

/**
 * @typedef {object} Part
 * @property {string} label
 * @property {string} command
 * @property {string[]} args
 * @property {string} [cwd] relative to the repository
 * @property {Record<string, string>} [env]
 * @property {number} [seconds] how long it takes: the longest begin first
 * @property {number} [limitSeconds] after this time it is ended, and has failed
 */

/** Most parts wait for much of their time, so there are two for each core. */
export const places = Number(process.env.RDMC_TEST_PLACES) || availableParallelism() * 2;

/** Lines about tests that did not run: they are also shown for parts that passed. */
const LEFT_OUT = /^(left out: |.*\bdid NOT run\b).*$/gm;

/** Processor seconds of all children that have ended, or undefined if the system does not report it. */
function processorSeconds() {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
    return (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    return undefined;
  }
}

/** Runs a command, then writes the processor time of it and of its descendants to descriptor 3, as the shell counts it. */
const TIMED = '"$@" 3>&-; status=$?; times >&3; exit $status';

/** The second line of the shell's `times`, such as `1m2.30s 0m4.56s`: what its children used. Undefined if it was killed. */
export function timesOf(text) {
  const line = text.split('\n')[1] ?? '';
  const used = [...line.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, seconds]) => minutes * 60 + Number(seconds),
  );
  return used.length === 2 ? used[0] + used[1] : undefined;
}

function secondsSince(began) {
  return (Date.now() - began) / 1000;
}

/** Ends a part and all processes that it started. */
function endGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Runs one part; resolves to whether it passed, how long it took, what it used of a processor and what it printed. */
function runPart({ command, args, cwd = '.', env = {}, limitSeconds }, running) {
  const began = Date.now();
  return new Promise((resolve) => {
    const options = { cwd: join(root, cwd), env: { ...process.env, ...env }, detached: true };
    const shell = ['-c', TIMED, 'sh', command, ...args];
    const child = spawn('/bin/sh', shell, { ...options, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    running.add(child);
    let output = '';
    let times = '';
    let late = false;
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    child.stdio[3].on('data', (data) => (times += data));
    const end = () => {
      late = true;
      endGroup(child);
    };
    const timer = limitSeconds && setTimeout(end, limitSeconds * 1000);
    const done = (passed, why) => {
      clearTimeout(timer);
      running.delete(child);
      resolve({ passed, seconds: secondsSince(began), used: timesOf(times), output: `${output}${why}` });
    };
    child.on('error', (error) => done(false, error.message));
    // Processes that it left behind may keep its output open.
    child.on('exit', () => endGroup(child));
    child.on('close', (code, signal) => {
      const why = late ? `ended after its limit of ${limitSeconds} s` : `ended with ${code ?? signal}`;
      done(code === 0, code === 0 ? '' : `${command} ${args.join(' ')} (in ${cwd}) ${why}`);
    });
  });
}

/** Runs all parts, `limit` at once, also after failures. Returns the label and the output of each failed part. */
export async function runParts(parts, limit = places) {
  const began = Date.now();
  const before = processorSeconds();
  const waiting = [...parts].sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0));
  const running = new Set();
  const failed = [];
  const endAll = () => running.forEach(endGroup);
  const interrupt = () => process.exit(130);
  process.on('exit', endAll).on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const worker = async () => {
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      const { passed, seconds, used, output } = await runPart(part, running);
      const time = `${seconds.toFixed(1)} s${used === undefined ? '' : `, ${used.toFixed(1)} s of a processor`}`;
      console.log(`── ${part.label}: ${passed ? 'ok' : 'FAILED'} (${time})`);
      if (passed) {
        for (const [line] of output.matchAll(LEFT_OUT)) console.log(`   ${line}`);
        continue;
      }
      failed.push({ label: part.label, output });
      console.log(output);
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  process.off('exit', endAll).off('SIGINT', interrupt).off('SIGTERM', interrupt);
  const used =
    before === undefined ? '' : `, ${(processorSeconds() - before).toFixed(0)} s of processor time`;
  console.log(`   ${parts.length} parts, ${limit} at once: ${secondsSince(began).toFixed(0)} s${used}`);
  return failed;
}

/** The same, and the process ends when one failed, after a digest of the failures. */
export async function passParts(parts, limit = places) {
  const failed = await runParts(parts, limit);
  if (failed.length === 0) return;
  console.error(failureDigest(failed));
  process.exit(1);
}
