// Runs a command for setup.mjs, and shows that it goes on: lines about what it does, or at least that it still runs.
//   node tools/tasks/with-progress.mjs [--download] LABEL COMMAND [ARGUMENT...]
// With --download, a command that takes longer than the limit of downloads is ended, with all that it started.
// The command's output is printed only if it fails. A process of its own, because setup.mjs waits for each command.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { DOWNLOAD, lateDownload } from './download.mjs';

const SILENCE_MS = 5000;
const isDownload = process.argv[2] === '--download';
const [label, command, ...args] = process.argv.slice(isDownload ? 3 : 2);
const began = Date.now();
const seconds = () => ((Date.now() - began) / 1000).toFixed(1);

/** Lines of turbo and of the addon's build that say what is being done; the rest of their output is not shown. */
const STEPS = [
  /** @param {string} line */
  (line) => /^(@rdmc\/[\w-]+):(\w+): cache miss/.exec(line)?.slice(1, 3).join(': '),
  (line) => /rdmc-verbs-build: (.+)$/.exec(line)?.[1],
];
/** At the end turbo names the tasks that failed; of all output, theirs is worth reading. */
const FAILED = /^\s*Failed:\s+(.+)$/m;

// The reader of the output has ended, as in `npm run reproduce -- --list | head`: the command goes on, and decides what that means.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
});

let hasLines = false;
let timer;

function say(text) {
  console.log(`${hasLines ? '' : '\n'}   ${text}`);
  hasLines = true;
  clearTimeout(timer);
  timer = setTimeout(() => say(`… ${seconds()} s`), SILENCE_MS);
}

function readLine(line) {
  const text = STEPS.map((step) => step(line)).find((found) => found !== undefined);
  if (text !== undefined) say(text);
}

/** The output of what failed. */
function relevant(output) {
  const tasks = FAILED.exec(output)?.[1].match(/@rdmc\/[\w-]+#\w+/g);
  if (!tasks) return output;
  const prefixes = tasks.map((task) => `${task.replace('#', ':')}: `);
  const lines = output.split('\n').filter((line) => prefixes.some((prefix) => line.startsWith(prefix)));
  return lines.join('\n');
}

function end(status, why) {
  clearTimeout(timer);
  clearTimeout(limit);
  const result = status === 0 ? 'ok' : 'failed';
  console.log(`${hasLines ? `── ${label}: ` : ''}${result} (${seconds()} s)`);
  if (status !== 0) console.log([relevant(output), why].filter(Boolean).join('\n'));
  process.exitCode = status;
}

/** Ends a command that has a process group of its own, and what it started. */
function endGroup() {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  } catch {
    // The group has ended.
  }
}

/** Ends the command, and this process: a process that left the group may keep its output open. */
function endLate() {
  endGroup();
  end(1, lateDownload(label));
  process.exit();
}

/** A terminal interrupts only this process's group. */
function endInterrupted(signal) {
  endGroup();
  process.exit(128 + constants.signals[signal]);
}

let output = '';
let rest = '';
// Before the command begins: it may be interrupted at once.
if (isDownload) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, endInterrupted);
const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: isDownload });
process.stdout.write(`── ${label} … `);
timer = setTimeout(() => say(`… ${seconds()} s`), SILENCE_MS);
const limit = isDownload ? setTimeout(endLate, DOWNLOAD.timeout) : undefined;
for (const stream of [child.stdout, child.stderr]) {
  stream.setEncoding('utf8').on('data', (data) => {
    output += data;
    const lines = (rest + data).split('\n');
    rest = lines.pop();
    lines.forEach(readLine);
  });
}
child.once('error', (error) => end(1, error.message));
child.once('close', (code, signal) => {
  if (process.exitCode === undefined) end(code ?? 1, signal ? `ended by ${signal}` : '');
});
