import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '@rdmc/common';
import type { Violation } from '../checker/check.js';

/** For runs that hang: an upgrade on two processors at a load of 50 took more than 180 s. */
const RUN_MS = 480_000;
/** Limit of the printed violations; the file has the whole history. */
const SHOWN = 5;

/** What a system does, and what is known of it. */
export interface Load {
  /** What a run proves: acknowledged writes, or members that have delivered the same. 0: nothing. */
  readonly acknowledged: number;
  /** Its numbers, for the line of a run. */
  readonly summary: string;
  /** The last errors, for a run that hangs. */
  readonly trouble: string;
  /** For the file of a failed run. */
  readonly history: object;
  /** Stops requests. */
  halt(): void;
}

/** A system under load with faults. */
export interface Subject {
  readonly plan: { readonly seed: number; readonly scenario: string };
  /** What its seed has drawn, in short. */
  readonly label: string;
  readonly load: Load;
  /** The events of the run, in order, as text. */
  readonly events: readonly string[];
  /** Runs everything from the start of the processes to the check of the history. */
  carryOut(): Promise<Violation[]>;
  /** Output of the processes, by name. */
  said(): readonly (readonly [string, string])[];
  /** Ends every process and removes every file. */
  remove(): Promise<void>;
}

export interface Report {
  readonly seconds: number;
  readonly acknowledged: number;
  /** Numbers of the run. */
  readonly summary: string;
  /** The failure; undefined if the run passed. */
  readonly failure: string | undefined;
  /** File of a failed run: plan, events, history and the members' output. */
  readonly file: string | undefined;
}

/**
 * Carries out one run. Leaves no process and no file behind, except the history of a failed run.
 * @throws the signal's reason, after the clean-up
 */
export async function judge(subject: Subject, signal?: AbortSignal): Promise<Report> {
  const started = performance.now();
  let failure: string | undefined;
  try {
    const violations = await withDeadline(subject, signal);
    failure = violations.length > 0 ? tell(violations) : undefined;
  } catch (error) {
    if (signal?.aborted) await abandon(subject, signal);
    failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  const file = failure === undefined ? undefined : writeHistory(subject, failure);
  subject.load.halt();
  await subject.remove();
  const { acknowledged, summary } = subject.load;
  const seconds = (performance.now() - started) / 1000;
  return { seconds, acknowledged, summary, failure, file };
}

async function abandon(subject: Subject, signal: AbortSignal): Promise<never> {
  subject.load.halt();
  await subject.remove();
  throw signal.reason;
}

function tell(violations: readonly Violation[]): string {
  const more = violations.length - SHOWN;
  const messages = violations.slice(0, SHOWN).map(({ message }) => message);
  return [...messages, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

async function withDeadline(subject: Subject, signal?: AbortSignal): Promise<Violation[]> {
  signal?.throwIfAborted();
  const late = (): Error => {
    const last = `last event: ${subject.events.at(-1)}; ${subject.load.trouble}`;
    return new Error(`not complete after ${RUN_MS / 1000} s; ${last}`);
  };
  return within(subject.carryOut(), { timeoutMs: RUN_MS, late, signal });
}

function writeHistory(subject: Subject, failure: string): string {
  const directory = join(tmpdir(), 'rdmc-chaos-failures');
  mkdirSync(directory, { recursive: true });
  const { plan, events, load } = subject;
  const path = join(directory, `seed-${plan.seed}-${plan.scenario}.json`);
  const all = { plan, failure, events, ...load.history, said: subject.said() };
  writeFileSync(
    path,
    JSON.stringify(all, (_, value: unknown) => value ?? null, 1),
  );
  return path;
}
