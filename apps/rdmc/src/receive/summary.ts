import type { CastComplete, CastFailed, CastReceiving } from '@rdmc/cast';
import { bar } from '../ui/bar.js';
import type { Palette } from '../ui/palette.js';
import { printable } from '../ui/printable.js';
import { formatBytes, formatCount, formatRate, formatSeconds, plural } from '../ui/units.js';

/** The texts of `rdmc receive` for people. */

const MOST_BAR = 30;
const LEAST_BAR = 6;
/** Columns beside the bar: margins, percentage, and a size. */
const BESIDE = 22;
/** Problems that are listed; the others are counted. */
const MOST_NAMED = 20;

/** One line about a cast that has ended. Nothing is called complete or verified where an entry is missing. */
export function describeComplete(event: CastComplete, { green, yellow }: Palette): string {
  const { from, files, bytes, seconds, problemCount, resumedBytes, unchangedFiles, removed } = event;
  if (event.dryRun) return `${green('Answered')}: nothing was changed here, from ${printable(from)}`;
  const rate = seconds > 0 && bytes > 0 ? `, ${formatRate(bytes / seconds)}` : '';
  const isWhole = problemCount === 0;
  const head = isWhole ? green('Complete') : yellow('Incomplete');
  const verified = isWhole && files > 0 ? ', verified' : '';
  const what = `${plural(files, 'file')}, ${formatBytes(bytes)}${verified}, in ${formatSeconds(seconds)}${rate}`;
  const kept = unchangedFiles > 0 ? `, ${plural(unchangedFiles, 'file')} unchanged` : '';
  const resumed = resumedBytes > 0 ? `, ${formatBytes(resumedBytes)} resumed` : '';
  const gone = removed > 0 ? `, ${formatCount(removed)} removed` : '';
  return `${head}: ${what}${resumed}${kept}${gone}, from ${printable(from)}`;
}

/** The entries that are missing; no lines where none is. */
export function describeMissing({ problems, problemCount }: CastComplete, { yellow }: Palette): string[] {
  if (problemCount === 0) return [];
  const named = problems.slice(0, MOST_NAMED);
  const rest = problemCount - named.length;
  return [
    `${yellow('Missing')}:`,
    ...named.map(({ path, code, message }) => `  ${printable(path)}  ${code}: ${printable(message)}`),
    ...(rest > 0 ? [`  … and ${formatCount(rest)} more`] : []),
  ];
}

export function describeFailed({ from, code, message, dryRun }: CastFailed, { red }: Palette): string {
  const what = dryRun ? 'dry run' : 'cast';
  return `${red('Failed')}: the ${what} from ${printable(from)}: ${code}: ${printable(message)}`;
}

/** The bar of a cast in progress, in one line of the window. */
export function drawReceiving(event: CastReceiving, columns: number): string {
  const { from, bytes, receivedBytes, storedBytes } = event;
  const share = (part: number): number => (bytes === 0 ? 0 : Math.min(1, part / bytes));
  const cells = Math.max(LEAST_BAR, Math.min(MOST_BAR, columns - BESIDE - LEAST_BAR));
  // The length of a stream is not known.
  const percent = bytes === 0 ? '    ' : `${String(Math.floor(share(receivedBytes) * 100)).padStart(3)}%`;
  const drawn = bar(share(storedBytes), share(receivedBytes), cells);
  const line = `  ${drawn} ${percent}  ${formatBytes(receivedBytes)}  from ${printable(from)}`;
  const characters = [...line];
  return characters.length < columns ? line : `${characters.slice(0, columns - 2).join('')}…`;
}
