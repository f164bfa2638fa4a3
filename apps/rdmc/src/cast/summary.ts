import type { CastProblem } from '@rdmc/cast';
import { adviceFor } from '../advice.js';
import type { Palette } from '../ui/palette.js';
import { printable } from '../ui/printable.js';
import { formatBytes, formatCount, formatRate, formatSeconds, plural } from '../ui/units.js';
import { describeContents } from './contents.js';
import { type Outcome, problemsBy, type ReceiverOutcome } from './outcome.js';
import { mostResumed } from './resumed.js';

/** Entries that are listed; the others are counted. */
const MOST_NAMED = 20;

function speed({ summary }: Outcome, complete: number): string {
  const { sentBytes, transferredBytes, seconds } = summary;
  const bytes = Math.min(sentBytes, transferredBytes);
  const took = `in ${formatSeconds(seconds)}`;
  if (seconds <= 0 || bytes === 0 || complete === 0) return took;
  const each = formatRate(bytes / seconds);
  return complete === 1
    ? `${took}, ${each}`
    : `${took}, ${each} to each, ${formatRate((bytes * complete) / seconds)} in all`;
}

/** What was sent, where receivers had something already. Nothing is called verified where something is missing. */
function sentPart({ summary, receivers, kind }: Outcome): string {
  const { sentFiles, sentBytes, transferredBytes, compressedBytes, files, encrypted } = summary;
  const removed = receivers.reduce((sum, receiver) => sum + receiver.removed, 0);
  const gone = removed > 0 ? `${formatCount(removed)} removed, ` : '';
  if (sentFiles === 0 && files > 0) return `nothing to send, ${gone}`;
  const isPart = receivers.some(({ keptBytes }) => keptBytes > 0);
  const blocks = isPart ? `${formatBytes(transferredBytes)} transferred, ` : '';
  const most = mostResumed(receivers);
  const resumed = most === '' ? '' : `${most} resumed, `;
  const packed = compressedBytes === undefined ? '' : `compressed to ${formatBytes(compressedBytes)}, `;
  const how = `${encrypted ? 'encrypted' : 'not encrypted'}, ${packed}${blocks}${resumed}${gone}`;
  const verified = kind === 'all' ? 'verified' : '';
  if (files === sentFiles) return verified === '' ? how : `${verified}, ${how}`;
  const sent = verified === '' ? 'sent' : `sent and ${verified}`;
  return `of these ${plural(sentFiles, 'file')}, ${formatBytes(sentBytes)} ${sent}, ${how}`;
}

function lackingLines(receiver: ReceiverOutcome, palette: Palette): string[] {
  const { name, code, message, attempts } = receiver;
  const tries = attempts > 1 ? ` (after ${plural(attempts, 'attempt')})` : '';
  return [`  ${palette.red(name)}  ${code ?? 'failed'}: ${printable(message ?? 'unknown reason')}${tries}`];
}

function problemLines(who: string, problems: readonly CastProblem[], more: number): string[] {
  const named = problems.slice(0, MOST_NAMED);
  const rest = problems.length - named.length + more;
  return [
    `${who}:`,
    ...named.map(({ path, code, message }) => `  ${printable(path)}  ${code}: ${printable(message)}`),
    ...(rest > 0 ? [`  … and ${formatCount(rest)} more`] : []),
  ];
}

/** The first line: how many receivers have what. */
export function describeSuccess(outcome: Outcome, palette: Palette): string[] {
  const { receivers, kind } = outcome;
  const complete = receivers.filter(({ state }) => state === 'complete').length;
  const who =
    complete === receivers.length
      ? receivers.length === 1
        ? `${receivers[0]!.name} has`
        : `All ${receivers.length} receivers have`
      : `${complete} of ${plural(receivers.length, 'receiver')} ${complete === 1 ? 'has' : 'have'}`;
  const text = `${who} ${describeContents(outcome.summary)}, ${sentPart(outcome)}${speed(outcome, complete)}.`;
  return [kind === 'all' ? palette.green(text) : text];
}

/** Lists what is missing at which receiver, and what to do; empty when nothing is missing. */
export function describeLack(outcome: Outcome, palette: Palette): string[] {
  const { receivers, summary } = outcome;
  const lacking = receivers.filter(({ state }) => state === 'failed');
  const lines: string[] = [];
  if (lacking.length > 0) {
    lines.push(`${palette.bold('Incomplete')}:`, ...lacking.flatMap((one) => lackingLines(one, palette)));
  }
  const advice = new Set(lacking.flatMap((one) => one.advice ?? adviceFor(one.code, 'cast') ?? []));
  lines.push(...[...advice].map((line) => `  ${line}`));
  const groups = [...problemsBy(summary.problems)];
  for (const [index, [receiver, problems]] of groups.entries()) {
    const more = index === groups.length - 1 ? summary.problemCount - summary.problems.length : 0;
    const who = receiver === undefined ? 'Not sent to any receiver' : `Missing at ${receiver}`;
    lines.push(...problemLines(palette.bold(who), problems, more));
  }
  if (lacking.length > 0 && lacking.length < receivers.length) {
    const names = lacking.map(({ name }) => name).join(',');
    lines.push(`When the cause is fixed, send to these receivers again: the same command with --to ${names}`);
  }
  return lines;
}
