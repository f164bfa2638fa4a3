import { parseWholeNumber } from '@rdmc/common';
import { Command, InvalidArgumentError } from 'commander';
import { TrainingError } from './errors.js';
import { interruptible } from './interruptible.js';
import { ProgressLine } from './progress-line.js';
import { run } from './run.js';
import { replicasFor, type Settings } from './settings.js';
import { describeLoss, gradientsPerSecond, megabytesPerSecond, summaryLines } from './summary.js';

interface Flags {
  readonly workers: number;
  readonly steps: number;
  readonly parameters: number;
  readonly killAt?: number;
  readonly device: string;
  readonly json: boolean;
}

const DESCRIPTION = `Trains a small model on three protocols at once. Member 0, this process, is the trainer; members 1 to n are workers,
each a process of its own on this machine. Every process has one node: one mesh, one device, one completion queue and one
worker thread, which runs a group, a channel and a log.`;

const LESSON = `
A step:
  1. The trainer multicasts the parameters to all workers         (a group of @rdmc/group)
  2. Each worker sends back its gradient                          (a gather channel of @rdmc/hipower)
  3. The trainer sums the gradients and updates the parameters
  4. It appends the step, with a SHA-256 of the parameters        (a replicated log of @rdmc/tailwind)

When a worker dies, the group and the channel fail with its id. The trainer creates new ones with the remaining workers, and
repeats the step; the log replaces the lost backup automatically. At the end the log is recovered from its backups and compared
with the trainer's results, and with those of a single process.

Examples:
  rdmc-training                                     20 steps with 3 workers
  rdmc-training --kill-at 10                        one of them is killed with -9 in the middle of step 10
  rdmc-training --workers 7 --parameters 1000000    larger messages, to more receivers
  rdmc-training --json | jq .processes              data-plane threads and counters of each process

Exit codes:
  0    all steps done, all checksums equal
  1    failed; the error names the cause
  2    an option is wrong, or there is no such device
  3    a checksum is wrong
  130  interrupted by Ctrl-C (143: SIGTERM, 129: SIGHUP); nothing is left behind`;

/** The command. `write` takes what goes to standard output. */
export function createProgram(write: (line: string) => void): Command {
  return new Command('rdmc-training')
    .description(DESCRIPTION)
    .option('-w, --workers <n>', 'worker processes', wholeNumber(1, 32), 3)
    .option('-s, --steps <n>', 'steps', wholeNumber(1, 10_000), 20)
    .option('-p, --parameters <n>', 'values of the model', wholeNumber(1, 4_194_304), 65_536)
    .option(
      '-k, --kill-at <step>',
      'kill a worker with -9 in the middle of this step',
      wholeNumber(1, 10_000),
    )
    .option('--device <name>', 'RDMA device, as for openDevice', 'auto')
    .option('--json', 'one JSON document instead of text', false)
    .addHelpText('after', LESSON)
    .exitOverride()
    .action((flags: Flags) => interruptible((signal) => train(settingsOf(flags), flags.json, write, signal)));
}

async function train(
  settings: Settings,
  json: boolean,
  write: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { workers, steps } = settings;
  const say = json ? () => {} : write;
  say(`training: workers: ${workers}, steps: ${steps}, replicas of the log: ${replicasFor(workers)}`);
  const progress = new ProgressLine(steps, say);
  try {
    const result = await run(
      settings,
      { step: (step) => progress.step(step), lost: (loss) => progress.line(describeLoss(loss)) },
      signal,
    );
    progress.stop();
    const rates = {
      multicastMegabytesPerSecond: megabytesPerSecond(result),
      gradientsPerSecond: gradientsPerSecond(result),
    };
    if (json) write(JSON.stringify({ ...result, ...rates }));
    else for (const line of ['done', ...summaryLines(result)]) write(line);
  } finally {
    progress.stop();
  }
}

function settingsOf({ workers, steps, parameters, killAt, device }: Flags): Settings {
  if (killAt !== undefined && killAt > steps)
    throw wrong(`--kill-at ${killAt} is after the last step, ${steps}`);
  if (killAt !== undefined && workers < 2)
    throw wrong('--kill-at needs --workers 2 or more: one must survive');
  return { workers, steps, parameters, killAt: killAt ?? null, device };
}

function wrong(message: string): TrainingError {
  return new TrainingError('ERR_RDMC_TRAINING_OPTION', message, 2);
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = parseWholeNumber(text, least, most);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`needs a whole number from ${least} to ${most}`);
  };
}
