import type { CastProblem, CastSummary, ReceiverSummary } from '@rdmc/cast';
import { CliError, codeOf, exitCodeOf, messageOf } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { formatEndpoint } from '../hosts/endpoint.js';
import type { FailedStart } from '../remote/start-receivers.js';
import { withoutName } from './receiver-text.js';

/** The outcome of one receiver. */
export interface ReceiverOutcome extends Omit<ReceiverSummary, 'code' | 'message'> {
  /** The name that the user gave. */
  readonly name: string;
  readonly code: string | null;
  readonly message: string | null;
  /** What to do, where the receiver did not start. */
  readonly advice?: string | undefined;
}

/** The outcome of a cast, including receivers that could not be started. */
export interface Outcome {
  readonly kind: 'all' | 'partial' | 'none';
  readonly exitCode: ExitCode;
  readonly summary: CastSummary;
  readonly receivers: readonly ReceiverOutcome[];
}

/** The code of a receiver that lacks some entries; problems list them. */
export const LACKS_SOME = 'ERR_RDMC_PARTIAL';

/** Problems by the receiver that lacks the entry; `undefined` for all receivers. */
export function problemsBy(problems: readonly CastProblem[]): Map<string | undefined, CastProblem[]> {
  const groups = new Map<string | undefined, CastProblem[]>();
  for (const problem of problems) {
    const group = groups.get(problem.receiver);
    if (group) group.push(problem);
    else groups.set(problem.receiver, [problem]);
  }
  return groups;
}

function notStarted({ name, target, error }: FailedStart): ReceiverOutcome {
  const { host, port = 0 } = target;
  const failure = {
    code: codeOf(error) ?? 'ERR_RDMC_UNEXPECTED',
    message: withoutName(messageOf(error), name),
  };
  const here = { keptBytes: 0, resumedBytes: 0, unchangedFiles: 0, unchangedBytes: 0, removed: 0 };
  const nothing = { files: 0, bytes: 0, ...here };
  const advice = error instanceof CliError ? error.advice : undefined;
  return { name, host, port, state: 'failed', attempts: 0, ...nothing, ...failure, advice };
}

function kindOf(receivers: readonly ReceiverOutcome[], problemCount: number): Outcome['kind'] {
  const lacking = receivers.filter(({ state }) => state === 'failed');
  if (lacking.length === 0 && problemCount === 0) return 'all';
  const empty = lacking.filter(({ code }) => code !== LACKS_SOME);
  return empty.length === receivers.length ? 'none' : 'partial';
}

/** @param nameOf gives the name of a receiver by the host and port that the library uses */
export function outcomeOf(
  summary: CastSummary,
  failedStarts: readonly FailedStart[],
  nameOf: (host: string, port: number) => string,
): Outcome {
  const cast = summary.receivers.map(({ code = null, message = null, ...rest }) => ({
    ...rest,
    name: nameOf(rest.host, rest.port),
    code,
    message: message && withoutName(message, formatEndpoint({ host: rest.host, port: rest.port })),
  }));
  const receivers: ReceiverOutcome[] = [...cast, ...failedStarts.map(notStarted)];
  const kind = kindOf(receivers, summary.problemCount);
  const cause = receivers.find(({ state }) => state === 'failed');
  const exitCodes = { all: ExitCode.OK, partial: ExitCode.PARTIAL, none: exitCodeOf(cause) };
  return { kind, exitCode: exitCodes[kind], summary, receivers };
}
