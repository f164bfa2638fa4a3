import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '@rdmc/common';
import type { Violation } from '../checker/check.js';
import type { Clients } from '../cluster/clients.js';

const RUN_MS = 180_000;
/** Violations that are told; a file has what they follow from. */
const SHOWN = 5;

/** A system under load to which something happens. */
export interface Subject {
  readonly plan: {
    readonly seed: number;
    readonly scenario: string;
    readonly shape: { readonly replicas: number };
  };
  readonly clients: Clients;
  /** What was done, in order, for a person to read. */
  readonly events: readonly string[];
  /** From the start of the processes to the check of the history. */
  carryOut(): Promise<Violation[]>;
  /** What the processes wrote, by name. */
  said(): readonly (readonly [string, string])[];
  /** Ends every process and removes every file. */
  remove(): Promise<void>;
}

export interface Report {
  readonly seconds: number;
  readonly acknowledged: number;
  readonly operations: number;
  /** What went wrong; undefined when nothing did. */
  readonly failure: string | undefined;
  /** Of a failed run: plan, events, history and what the members said. */
  readonly file: string | undefined;
}

/**
 * One run, to the verdict. Leaves no process and no file behind, but the history of a failed run.
 * @throws the signal's reason, when everything is gone
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
    const last = `last: ${subject.events.at(-1)}; refused: ${refusals || 'nothing'}`;
    return new Error(`not done after ${RUN_MS / 1000} s; ${last}`);
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
