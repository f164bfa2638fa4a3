import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '@rdmc/common';
import type { Violation } from '../checker/check.js';
import type { Clients } from '../cluster/clients.js';

/** For runs that hang: an upgrade on two processors at a load of 50 took more than 180 s. */
const RUN_MS = 480_000;
/** Limit of the printed violations; the file has the whole history. */
const SHOWN = 5;

/** A system under load with faults. */
export interface Subject {
  readonly plan: {
    readonly seed: number;
    readonly scenario: string;
    readonly shape: { readonly replicas: number };
  };
  readonly clients: Clients;
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
  readonly operations: number;
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
  subject.clients.halt();
  await subject.remove();
  const { operations, together, acknowledged } = subject.clients;
  const seconds = (performance.now() - started) / 1000;
  return { seconds, acknowledged, operations: operations.length + together.length, failure, file };
}

async function abandon(subject: Subject, signal: AbortSignal): Promise<never> {
  subject.clients.halt();
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
    const refusals = [...subject.clients.refusals].map(([code, count]) => `${count} × ${code}`).join(', ');
    const last = `last event: ${subject.events.at(-1)}; refused: ${refusals || 'nothing'}`;
    return new Error(`not complete after ${RUN_MS / 1000} s; ${last}`);
  };
  return within(subject.carryOut(), { timeoutMs: RUN_MS, late, signal });
}

function writeHistory(subject: Subject, failure: string): string {
  const directory = join(tmpdir(), 'rdmc-chaos-failures');
  mkdirSync(directory, { recursive: true });
  const { plan, events, clients } = subject;
  const path = join(directory, `seed-${plan.seed}-${plan.scenario}.json`);
  const { operations, together, refusals } = clients;
  const all = { plan, failure, events, refusals: [...refusals], operations, together, said: subject.said() };
  writeFileSync(
    path,
    JSON.stringify(all, (_, value: unknown) => value ?? null, 1),
  );
  return path;
}
