import { codeOf, messageOf } from '@rdmc/common';
import type { Bench, Figure, Way } from '../catalogue/figure.js';
import { thisCommit, thisMachine, today } from '../record/machine.js';
import { recordOf } from '../record/read.js';
import { type FigureRecord, type Outcome, RECORD_VERSION } from '../record/record.js';
import { writeRecord } from '../record/write.js';
import type { SharedRuns } from './shared-runs.js';
import { missingLines, recordLines } from './text.js';

/** Where a reproduction runs and prints. */
export interface Surroundings {
  readonly runs: SharedRuns;
  /** Tells the person who waits what is done now. */
  say(line: string): void;
  /** Prints a line of the result. */
  print(line: string): void;
  readonly folder: string;
  /** Whether this process may make network namespaces; a container may forbid it nevertheless. */
  readonly isRoot: boolean;
}

/** An error as one line. */
export const errorLine = (error: unknown) => `error ${codeOf(error) ?? ''}: ${messageOf(error)}`;

/**
 * Runs a figure in its ways. Prints recorded numbers of ways that are not run, and of those that fail: the others run
 * nevertheless. Returns the ids of the ways that failed.
 */
export async function reproduce(
  figure: Figure,
  way: string | undefined,
  around: Surroundings,
): Promise<string[]> {
  around.print(`${figure.id}: ${figure.label}, ${figure.title}`);
  const failed: string[] = [];
  for (const each of figure.ways.filter(({ id }) => way === undefined || id === way)) {
    around.print(` ${each.id} (${each.kind}): ${each.how}`);
    if (!(await isReproduced(figure, each, around))) failed.push(each.id);
  }
  if (figure.lacks !== undefined) around.print(` lacks: ${figure.lacks}`);
  return failed;
}

/** Whether a way did not fail: it has run, or is one that is not run here. */
async function isReproduced(figure: Figure, way: Way, around: Surroundings): Promise<boolean> {
  if (way.run === undefined) printRecorded(figure, way, around, undefined);
  else if (way.needsRoot && !around.isRoot) {
    printRecorded(figure, way, around, 'not run: needs root, for network namespaces: run it with sudo');
  } else {
    try {
      await runWay(figure, way, way.run, around);
    } catch (error) {
      printRecorded(figure, way, around, `failed: ${errorLine(error)}`);
      return false;
    }
  }
  return true;
}

function printRecorded(figure: Figure, way: Way, around: Surroundings, why: string | undefined): void {
  if (why !== undefined) around.print(`  ${why}`);
  const record = recordOf(around.folder, figure.id, way.id);
  const lines = record === undefined ? missingLines(way) : recordLines(figure, record);
  for (const line of lines) around.print(line);
}

async function runWay(
  figure: Figure,
  way: Way,
  run: (bench: Bench) => Promise<Outcome>,
  { runs, say, print, folder }: Surroundings,
): Promise<void> {
  const programs = runs.forWay();
  // Before the run, which takes minutes: somebody may commit meanwhile.
  const commit = thisCommit();
  const outcome = await run({
    say,
    command: programs.command,
    recorded: (id) => recordOf(folder, figure.id, id),
  });
  const load = programs.load();
  const record: FigureRecord = {
    version: RECORD_VERSION,
    figure: figure.id,
    way: way.id,
    kind: way.kind,
    machine: thisMachine(),
    date: today(),
    commit,
    command: way.command,
    ...(load === undefined ? {} : { load }),
    ...outcome,
  };
  const path = writeRecord(folder, record);
  for (const line of recordLines(figure, record)) print(line);
  print(`  recorded: ${path}`);
}
