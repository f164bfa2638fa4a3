/** `npm run reproduce`: runs figures of the papers again, and records them. */
import { codeOf, systemReason } from '@rdmc/common';
import { catalogue } from '../catalogue/catalogue.js';
import { readRecords } from '../record/read.js';
import { listLines } from './list.js';
import { HELP, type ReproduceOptions, reproduceOptions } from './options.js';
import { errorLine, reproduce, type Surroundings } from './reproduce.js';
import { SharedRuns } from './shared-runs.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_OUTPUT_CLOSED = 141;
const USAGE_ERRORS: readonly (string | undefined)[] = ['ERR_RDMC_LAB_OPTION', 'ERR_RDMC_UNKNOWN_FIGURE'];

const print = (line: string) => process.stdout.write(`${line}\n`);
const say = (line: string) => process.stderr.write(`${line}\n`);

/** Runs the figures one after the other, also after failures. Returns those that failed, with their ways. */
async function runAll({ figures, way, out }: ReproduceOptions): Promise<string[]> {
  // A record that cannot be read is an error now, not after hours.
  readRecords(out);
  const isRoot = process.getuid?.() === 0;
  const around: Surroundings = { runs: new SharedRuns(), say, print, folder: out, isRoot };
  const wanted = figures ?? catalogue;
  const minutes = wanted
    .flatMap(({ ways }) => ways)
    .reduce((sum, each) => sum + (each.run ? each.minutes : 0), 0);
  if (figures === undefined)
    say(`All figures: about ${minutes} minutes on two idle cores, most of a run is measured`);
  const failed: string[] = [];
  for (const figure of wanted) {
    try {
      const ways = await reproduce(figure, way, around);
      if (ways.length > 0) failed.push(`${figure.id} (${ways.join(', ')})`);
    } catch (error) {
      say(errorLine(error));
      failed.push(figure.id);
    }
  }
  return failed;
}

async function main(): Promise<number> {
  const options = reproduceOptions(process.argv.slice(2));
  if (options.help) print(HELP);
  else if (options.list) for (const line of listLines(options.out)) print(line);
  else {
    const failed = await runAll(options);
    if (failed.length > 0) say(`FAILED: ${failed.join(', ')}`);
    return failed.length === 0 ? 0 : EXIT_FAILED;
  }
  return 0;
}

// `npm run reproduce -- --list | head` ends as other tools do whose reader has closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT_OUTPUT_CLOSED);
  say(`error ${error.code}: cannot write standard output: ${systemReason(error)}`);
  process.exit(EXIT_FAILED);
});
// Nobody can read that stderr has failed: the runs go on without it.
process.stderr.on('error', () => {});
try {
  process.exitCode = await main();
} catch (error) {
  say(errorLine(error));
  process.exitCode = USAGE_ERRORS.includes(codeOf(error)) ? EXIT_USAGE : EXIT_FAILED;
}
