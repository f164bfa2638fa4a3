import type { CastLogger, FetchProgress, FetchSummary } from '@rdmc/cast';
import { bar } from '../ui/bar.js';
import { folded } from '../ui/fold.js';
import { printable } from '../ui/printable.js';
import { Repainter } from '../ui/repainter.js';
import type { Terminal } from '../ui/terminal.js';
import { formatBytes, formatCount, formatRate, formatSeconds, plural } from '../ui/units.js';
import { finishedLine, progressLine } from './events.js';
import type { FetchCommandOptions } from './options.js';

const BAR_CELLS = 20;
/** Problems that are listed; the others are counted. */
const MOST_NAMED = 20;

const PHASES: Readonly<Record<FetchProgress['phase'], string>> = {
  connecting: 'calling the server',
  comparing: 'comparing',
  receiving: 'receiving',
  finishing: 'writing to disk',
  serving: 'everything is here; serves on',
  done: 'done',
};

/** Reports one fetch: to a person by lines and a bar, or to a program by events. */
export class FetchReporter {
  readonly #painter = new Repainter(
    (text) => void process.stdout.write(text),
    () => this.terminal.columns,
  );

  #serves = false;

  constructor(
    private readonly terminal: Terminal,
    private readonly options: Pick<FetchCommandOptions, 'json' | 'quiet' | 'verbose'>,
  ) {}

  progress(snapshot: FetchProgress): void {
    if (this.options.json) this.terminal.line(progressLine(snapshot));
    if (snapshot.phase === 'serving' && !this.#serves) {
      this.#serves = true;
      const { json, quiet } = this.options;
      const line = '  everything is here; it is sent to later fetchers now (Ctrl-C ends that)';
      if (!json && !quiet) this.#painter.around(() => this.terminal.note(line));
    }
    if (this.options.json || this.options.quiet || !this.terminal.interactive) return;
    const { phase, totalBytes, storedBytes, members } = snapshot;
    const share = totalBytes === 0 ? 0 : Math.min(1, storedBytes / totalBytes);
    const others = members > 2 ? `, with ${plural(members - 2, 'other fetcher')}` : '';
    const size = totalBytes === 0 ? '' : `  ${formatBytes(storedBytes)} of ${formatBytes(totalBytes)}`;
    const line = `  ${bar(share, share, BAR_CELLS)}${size}  ${PHASES[phase]}${others}`;
    this.#painter.paint(phase === 'done' ? [] : [[...line].slice(0, this.terminal.columns - 1).join('')]);
  }

  finished(summary: FetchSummary, exitCode: number): void {
    this.#painter.paint([]);
    if (this.options.json) this.terminal.line(finishedLine(summary, exitCode));
    if (this.options.json) return;
    if (!this.options.quiet) this.terminal.out(...folded(this.terminal, [this.#describe(summary)]));
    if (summary.problemCount > 0) this.terminal.note(...folded(this.terminal, this.#missing(summary)));
  }

  /** Removes the bar: an error follows. */
  clear(): void {
    if (this.terminal.interactive && !this.options.json) this.#painter.paint([]);
  }

  /** Prints the library's log, with --verbose. */
  get logger(): CastLogger | undefined {
    if (!this.options.verbose) return undefined;
    const log = (details: object, message: string): void => {
      const line = `  ${message} ${this.terminal.palette.dim(JSON.stringify(details))}`;
      this.#painter.around(() => this.terminal.note(line));
    };
    return { debug: log, info: log, warn: log, error: log };
  }

  #describe(summary: FetchSummary): string {
    const { files, bytes, receivedBytes, resumedBytes, unchangedFiles, skipped, seconds } = summary;
    const { problemCount, encrypted } = summary;
    const { green, yellow } = this.terminal.palette;
    const isWhole = problemCount === 0;
    const head = isWhole ? green('Complete') : yellow('Incomplete');
    const how = [isWhole ? ', verified' : '', encrypted ? ', encrypted' : ''].join('');
    const rate = receivedBytes > 0 ? `, ${formatRate(receivedBytes / seconds)}` : '';
    const kept = unchangedFiles > 0 ? `, ${plural(unchangedFiles, 'file')} unchanged` : '';
    const links = skipped > 0 ? `; links and special files that are not served: ${formatCount(skipped)}` : '';
    const resumed = resumedBytes > 0 ? `, ${formatBytes(resumedBytes)} resumed` : '';
    const what = `${plural(files, 'file')}, ${formatBytes(bytes)} (${formatBytes(receivedBytes)} received${resumed})`;
    return `${head}: ${what}${how}${kept}, in ${formatSeconds(seconds)}${rate}${links}`;
  }

  #missing({ problems, problemCount }: FetchSummary): string[] {
    const named = problems.slice(0, MOST_NAMED);
    const rest = problemCount - named.length;
    return [
      `${this.terminal.palette.yellow('Missing')}:`,
      ...named.map(({ path, code, message }) => `  ${printable(path)}  ${code}: ${printable(message)}`),
      ...(rest > 0 ? [`  … and ${formatCount(rest)} more`] : []),
    ];
  }
}
