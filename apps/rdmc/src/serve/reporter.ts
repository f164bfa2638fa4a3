import type { CastLogger, FetchServing, ServeEvent } from '@rdmc/cast';
import { formatEndpoint } from '../hosts/endpoint.js';
import { logRecord } from '../receive/log.js';
import { bar } from '../ui/bar.js';
import { folded } from '../ui/fold.js';
import { printable } from '../ui/printable.js';
import { Repainter } from '../ui/repainter.js';
import type { Terminal } from '../ui/terminal.js';
import { formatBytes, formatRate, formatSeconds, plural } from '../ui/units.js';
import { type ServeLine, type ServeLineOf, toLine } from './events.js';
import type { ServeCommandOptions } from './options.js';

const BAR_CELLS = 20;

type Outputs = Pick<ServeCommandOptions, 'json' | 'quiet' | 'verbose' | 'logJson'>;

/** The name that a fetcher asked for, for people. */
function named(name: string): string {
  return name === '' ? 'everything' : printable(name);
}

/** One line about an event, without its colour; undefined where there is none. */
function describe(event: ServeEvent): string | undefined {
  if (event.type === 'progress') return undefined;
  const name = named(event.name);
  if (event.type === 'sent') {
    const { fetchers, pieces, bytes } = event;
    const who = event.leader === undefined ? 'sent' : `${printable(event.leader)} sent`;
    return `${who} ${plural(pieces, 'piece')} of ${name}, ${formatBytes(bytes)}, to ${plural(fetchers, 'fetcher')} at once`;
  }
  const who = printable(event.from);
  if (event.type === 'began') {
    const { lacking, pieces, fetchers, files, bytes } = event;
    const what = `${plural(files, 'file')}, ${formatBytes(bytes)}`;
    return `${who} fetches ${name} (${what}): lacks ${lacking} of ${plural(pieces, 'piece')}; ${plural(fetchers, 'fetcher')} now`;
  }
  if (event.type === 'failed') return `Failed: ${who}, ${name}: ${event.code}: ${printable(event.message)}`;
  const { storedFiles, storedBytes, seconds, problemCount } = event;
  const rate = seconds > 0 && storedBytes > 0 ? `, ${formatRate(storedBytes / seconds)}` : '';
  const missing = problemCount > 0 ? `; number of missing entries: ${problemCount}` : '';
  const head = problemCount > 0 ? 'Incomplete' : 'Complete';
  const what = `${plural(storedFiles, 'file')}, ${formatBytes(storedBytes)}`;
  return `${head}: ${who} has ${name}: ${what}, in ${formatSeconds(seconds)}${rate}${missing}`;
}

/** Reports the fetches of a server: to a person by lines and bars, or to a program by events. */
export class ServeReporter {
  readonly #painter = new Repainter(
    (text) => void process.stdout.write(text),
    () => this.terminal.columns,
  );
  /** The latest progress of each fetch. */
  readonly #bars = new Map<string, FetchServing>();

  constructor(
    private readonly terminal: Terminal,
    private readonly options: Outputs,
  ) {}

  listening(event: ServeLineOf<'listening'>): void {
    const { host, port, directory, keyed, metrics } = event;
    this.#emit(event, 'info', `listening on ${host} port ${port}`);
    if (this.options.json || this.options.logJson || this.options.quiet) return;
    const how = keyed
      ? `fetchers need the key, or one for fetching: rdmc fetch HOST:${port} --dir DIR --key-file FILE`
      : `without a key, only this user on this machine can fetch: rdmc fetch ${formatEndpoint({ host, port })} --dir DIR`;
    const { bold } = this.terminal.palette;
    const head = `${bold('Serving')} ${directory} on ${formatEndpoint({ host, port })}`;
    this.#say(head, `  ${how}`, ...(metrics === null ? [] : [`  metrics at ${metrics}`]));
  }

  happened(event: ServeEvent): void {
    const text = describe(event);
    const failed = event.type === 'failed';
    if (event.type === 'progress') this.#bars.set(event.fetchId, event);
    if (event.type === 'complete' || failed) this.#bars.delete(event.fetchId);
    const level = failed ? 'error' : event.type === 'complete' && event.problemCount > 0 ? 'warn' : 'info';
    this.#emit(toLine(event), level, text);
    if (this.options.json || this.options.logJson) return;
    const isShown = !this.options.quiet && (event.type !== 'sent' || this.options.verbose);
    if (text !== undefined && failed) this.#note(text);
    else if (text !== undefined && isShown) this.#say(text);
    this.#paint();
  }

  /** Prints the library's log, with --verbose or --log-json. */
  get logger(): CastLogger | undefined {
    const { logJson, verbose } = this.options;
    if (!logJson && !verbose) return undefined;
    const at =
      (level: 'info' | 'warn' | 'error') =>
      (details: object, message: string): void => {
        if (logJson) this.terminal.note(JSON.stringify(logRecord(level, 'log', message, { details })));
        else this.#note(`  ${message} ${this.terminal.palette.dim(JSON.stringify(details))}`);
      };
    return { info: at('info'), warn: at('warn'), error: at('error') };
  }

  #emit(line: ServeLine, level: 'info' | 'warn' | 'error', text: string | undefined): void {
    if (this.options.json) this.terminal.line(line);
    if (!this.options.logJson || text === undefined) return;
    const { event, ...fields } = line;
    const { message: reason, ...rest } = fields as { message?: string };
    this.terminal.note(JSON.stringify(logRecord(level, event, text, { ...rest, ...(reason && { reason }) })));
  }

  #say(...lines: readonly string[]): void {
    this.#painter.around(() => this.terminal.out(...folded(this.terminal, lines)));
  }

  #note(...lines: readonly string[]): void {
    this.#painter.around(() => this.terminal.note(...folded(this.terminal, lines)));
  }

  #paint(): void {
    if (!this.terminal.interactive || this.options.quiet) return;
    const lines = [...this.#bars.values()].map(({ from, name, bytes, storedBytes }) => {
      const share = bytes === 0 ? 0 : Math.min(1, storedBytes / bytes);
      const line = `  ${bar(share, share, BAR_CELLS)} ${formatBytes(storedBytes)}  ${named(name)} to ${printable(from)}`;
      return [...line].slice(0, this.terminal.columns - 1).join('');
    });
    this.#painter.paint(lines);
  }
}
