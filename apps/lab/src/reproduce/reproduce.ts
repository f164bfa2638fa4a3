import type { Bench, Figure, Way } from '../catalogue/figure.js';
import { busyPercent, loadNow, thisCommit, thisMachine, today } from '../record/machine.js';
import { recordOf } from '../record/read.js';
import { type FigureRecord, type Outcome, RECORD_VERSION } from '../record/record.js';
import { writeRecord } from '../record/write.js';
import { missingLines, recordLines } from './text.js';

/** Where a reproduction runs and prints. */
export interface Surroundings {
  readonly bench: Bench;
  /** Prints a line of the result. */
  print(line: string): void;
  readonly folder: string;
  /** Whether this process may make network namespaces. */
  readonly isRoot: boolean;
}

/** Runs a figure in its ways; prints recorded numbers of ways that are not run. @throws what a way throws */
export async function reproduce(
  figure: Figure,
  way: string | undefined,
  around: Surroundings,
): Promise<void> {
  around.print(`${figure.id}: ${figure.label}, ${figure.title}`);
  for (const each of figure.ways.filter(({ id }) => way === undefined || id === way)) {
    around.print(` ${each.id} (${each.kind}): ${each.how}`);
    if (each.run === undefined) printRecorded(figure, each, around, undefined);
    else if (each.needsRoot && !around.isRoot) {
      printRecorded(figure, each, around, 'needs root, for network namespaces: run it with sudo');
    } else await runWay(figure, each, each.run, around);
  }
  if (figure.lacks !== undefined) around.print(` lacks: ${figure.lacks}`);
}

function printRecorded(figure: Figure, way: Way, around: Surroundings, why: string | undefined): void {
  if (why !== undefined) around.print(`  not run: ${why}`);
  const record = recordOf(around.folder, figure.id, way.id);
  const lines = record === undefined ? missingLines(way) : recordLines(figure, record);
  for (const line of lines) around.print(line);
}

async function runWay(
  figure: Figure,
  way: Way,
  run: (bench: Bench) => Promise<Outcome>,
  around: Surroundings,
): Promise<void> {
  // A prediction does not depend on it.
  const isMeasured = way.kind === 'measured';
  const [busy, before] = [isMeasured ? await busyPercent() : 0, loadNow()];
  const outcome = await run(around.bench);
  const load = `processors ${busy}% busy before, load average ${before.toFixed(1)} before, ${loadNow().toFixed(1)} after`;
  const record: FigureRecord = {
    version: RECORD_VERSION,
    figure: figure.id,
    way: way.id,
    kind: way.kind,
    machine: thisMachine(),
    date: today(),
    commit: thisCommit(),
    command: way.command,
    ...(isMeasured ? { load } : {}),
    ...outcome,
  };
  const path = writeRecord(around.folder, record);
  for (const line of recordLines(figure, record)) around.print(line);
  around.print(`  recorded: ${path}`);
}
