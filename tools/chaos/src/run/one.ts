import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Violation } from '../checker/check.js';
import * as faults from './faults.js';
import { draw, type Plan, type Scenario } from './plan.js';
import * as restarts from './restarts.js';
import { Run } from './run.js';

const RUN_MS = 180_000;
/** Violations that are told; a file has what they follow from. */
const SHOWN = 5;

const WHAT: Record<Scenario, (run: Run) => Promise<Violation[]>> = {
  primary: faults.primary,
  'primary-and-backups': faults.primaryAndBackups,
  'backups-then-primary': faults.backupsThenPrimary,
  'stopped-primary': faults.stoppedPrimary,
  'torn-write': faults.tornWrite,
  'damaged-buffer': faults.damagedBuffer,
  'damaged-file': faults.damagedFile,
  'power-failure': restarts.powerFailure,
  coordinator: restarts.coordinator,
  'too-much': restarts.tooMuch,
  'stale-backup': restarts.staleBackup,
  'full-disk': faults.fullDisk,
  'cut-links': faults.cutLinks,
};

export interface Report {
  readonly plan: Plan;
  readonly seconds: number;
  readonly acknowledged: number;
  readonly operations: number;
  /** What went wrong; undefined when nothing did. */
  readonly failure: string | undefined;
  /** Of a failed run: plan, events, history and what the members said. */
  readonly file: string | undefined;
}

/** One run, from its seed to the verdict. Leaves no process and no file behind, but the history of a failed run. */
export async function runOne(seed: number, among: readonly Scenario[]): Promise<Report> {
  const { plan, random } = draw(seed, among);
  const started = performance.now();
  const run = await Run.create(plan, random);
  let failure: string | undefined;
  let undo = async (): Promise<void> => {};
  try {
    if (plan.scenario === 'full-disk') undo = await faults.mountSmallDisks(run);
    const violations = await withDeadline(run, async () => {
      await run.begin();
      return WHAT[plan.scenario](run);
    });
    failure = violations.length > 0 ? tell(violations) : undefined;
  } catch (error) {
    failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  const file = failure === undefined ? undefined : writeHistory(run, failure);
  await run.remove().finally(undo);
  const { operations, together, acknowledged } = run.clients;
  const seconds = (performance.now() - started) / 1000;
  return { plan, seconds, acknowledged, operations: operations.length + together.length, failure, file };
}

function tell(violations: readonly Violation[]): string {
  const more = violations.length - SHOWN;
  const messages = violations.slice(0, SHOWN).map(({ message }) => message);
  return [...messages, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

async function withDeadline<T>(run: Run, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const refusals = [...run.clients.refusals].map(([code, count]) => `${count} × ${code}`).join(', ');
      reject(
        new Error(
          `not done after ${RUN_MS / 1000} s; last: ${run.events.at(-1)}; refused: ${refusals || 'nothing'}`,
        ),
      );
    }, RUN_MS);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

function writeHistory(run: Run, failure: string): string {
  const directory = join(tmpdir(), 'rdmc-chaos-failures');
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `seed-${run.plan.seed}.json`);
  const { operations, together, refusals } = run.clients;
  const said = [...run.cluster.servers, run.cluster.coordinator].map((member) => [member?.id, member?.said]);
  const all = {
    plan: run.plan,
    failure,
    events: run.events,
    refusals: [...refusals],
    operations,
    together,
    said,
  };
  writeFileSync(
    path,
    JSON.stringify(all, (_, value: unknown) => value ?? null, 1),
  );
  return path;
}
