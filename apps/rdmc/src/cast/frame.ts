import type { CastProgress, ReceiverProgress } from '@rdmc/cast';
import { bar } from '../ui/bar.js';
import { type Palette, visibleWidth } from '../ui/palette.js';
import { printable } from '../ui/printable.js';
import { formatBytes, formatRate, plural } from '../ui/units.js';
import { averageStored, isComplete, isFailed, living } from './snapshot.js';

/** The terminal that a frame is drawn for, and the rate. */
export interface FrameContext {
  readonly columns: number;
  readonly rows: number;
  readonly palette: Palette;
  /** Bytes per second to each receiver. */
  readonly rate: number | undefined;
  /** Whether the length is not known before the end: then there is no percentage, and no remaining time. */
  readonly isStream?: boolean | undefined;
}

const MOST_NAME = 30;
const MOST_BAR = 30;
const LEAST_BAR = 6;
const LEAST_NAME = 10;
/** Columns beside name and bar: margins, percentage, and a short text. */
const BESIDE = 44;
/** Lines without a receiver: the total, and the line of the cursor. */
const OTHER_LINES = 3;

function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

/** The remaining time as text: whole seconds, or minutes and seconds, or hours and minutes. */
export function formatTimeLeft(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 100) return `${whole} s`;
  if (whole < 6000) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

function share(bytes: number, totalBytes: number): number {
  return totalBytes === 0 ? 0 : Math.min(1, bytes / totalBytes);
}

interface Columns {
  readonly name: number;
  readonly bar: number;
}

function columnsFor({ receivers }: CastProgress, { columns }: FrameContext): Columns {
  const longest = Math.max(5, ...receivers.map(({ name }) => visibleWidth(name)));
  const name = Math.min(longest, MOST_NAME, Math.max(LEAST_NAME, columns - BESIDE - LEAST_BAR));
  return { name, bar: Math.max(LEAST_BAR, Math.min(MOST_BAR, columns - BESIDE - name)) };
}

function percent(value: number): string {
  // Rounded down, so that 100% means complete.
  return `${String(Math.floor(value * 100)).padStart(3)}%`;
}

/** Of a stream, what is known is the part that was read. */
function shownShare(value: number, { isStream }: FrameContext): string {
  return isStream ? '    ' : percent(value);
}

function receiverLine(
  receiver: ReceiverProgress,
  snapshot: CastProgress,
  widths: Columns,
  context: FrameContext,
): string {
  const { palette, columns } = context;
  const name = cut(receiver.name, widths.name).padEnd(widths.name);
  if (isFailed(receiver)) {
    const why = printable(`${receiver.error?.code ?? ''} ${receiver.error?.message ?? ''}`.trim());
    return `  ${name}  ${palette.red(cut(`failed ${why}`, columns - widths.name - 5))}`;
  }
  const stored = isComplete(receiver) ? 1 : share(receiver.storedBytes, snapshot.totalBytes);
  const received = Math.max(stored, share(receiver.receivedBytes, snapshot.totalBytes));
  const words = isComplete(receiver) ? palette.green('complete') : formatBytes(receiver.storedBytes);
  const part = shownShare(stored, context);
  return `  ${name}  ${palette.cyan(bar(stored, received, widths.bar))} ${part}  ${words}`;
}

function totalLine(snapshot: CastProgress, widths: Columns, context: FrameContext): string {
  const { palette, rate, columns, isStream } = context;
  const stored = averageStored(snapshot);
  const done = share(stored, snapshot.totalBytes);
  const left = snapshot.totalBytes - stored;
  const words: string[] = [];
  if (rate !== undefined) words.push(formatRate(rate));
  if (rate && left > 0 && !isStream) words.push(`${formatTimeLeft(left / rate)} left`);
  else words.push(printable(snapshot.phase));
  const head = `  ${palette.bold('total'.padEnd(widths.name))}  ${palette.cyan(bar(done, done, widths.bar))} ${shownShare(done, context)}`;
  return `${head}  ${cut(words.join(', '), columns - visibleWidth(head) - 3)}`;
}

function hiddenLine(hidden: readonly ReceiverProgress[], columns: number): string {
  const complete = hidden.filter(isComplete).length;
  const failed = hidden.filter(isFailed).length;
  const faster = hidden.length - complete - failed;
  const parts = [
    ...(faster > 0 ? [`${faster} faster`] : []),
    ...(complete > 0 ? [`${complete} complete`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ];
  return cut(`  … and ${plural(hidden.length, 'receiver')} more: ${parts.join(', ')}`, columns - 1);
}

/** Orders receivers: unfinished ones first, the slowest at the top; then failed, then complete ones. */
function bySlowness(a: ReceiverProgress, b: ReceiverProgress): number {
  const rank = (one: ReceiverProgress): number => (isComplete(one) ? 2 : isFailed(one) ? 1 : 0);
  return rank(a) - rank(b) || a.storedBytes - b.storedBytes;
}

/**
 * The lines that show a cast on a terminal: a bar per receiver and a total, never more than the window has room for.
 * Where not all receivers fit, the slowest are shown.
 */
export function drawFrame(snapshot: CastProgress, context: FrameContext): string[] {
  const { receivers } = snapshot;
  const widths = columnsFor(snapshot, context);
  const rows = Math.max(1, context.rows - OTHER_LINES);
  const fits = receivers.length <= rows;
  const shown = fits ? receivers : [...receivers].sort(bySlowness).slice(0, Math.max(1, rows - 1));
  const lines = shown.map((receiver) => receiverLine(receiver, snapshot, widths, context));
  if (!fits) {
    const seen = new Set(shown);
    lines.push(
      hiddenLine(
        receivers.filter((receiver) => !seen.has(receiver)),
        context.columns,
      ),
    );
  }
  return [...lines, totalLine(snapshot, widths, context)];
}

/** The progress of a cast as one line for a log. */
export function describeProgress(snapshot: CastProgress, rate: number | undefined, isStream = false): string {
  const stored = averageStored(snapshot);
  const left = snapshot.totalBytes - stored;
  const words = [
    isStream
      ? `${formatBytes(Math.round(stored))} stored`
      : `${percent(share(stored, snapshot.totalBytes)).trim()} of ${formatBytes(snapshot.totalBytes)}`,
    `${plural(living(snapshot).length, 'receiver')}`,
    ...(rate === undefined ? [] : [formatRate(rate)]),
    ...(rate && left > 0 && !isStream ? [`${formatTimeLeft(left / rate)} left`] : []),
  ];
  return words.join(', ');
}
