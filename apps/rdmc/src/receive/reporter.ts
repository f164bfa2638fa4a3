import type {
  CastBegan,
  CastComplete,
  CastFailed,
  CastLogger,
  CastReceiving,
  CastRouted,
  ReceiverEvent,
} from '@rdmc/cast';
import { formatEndpoint } from '../hosts/endpoint.js';
import { bar } from '../ui/bar.js';
import { printable } from '../ui/printable.js';
import { Repainter } from '../ui/repainter.js';
import { routeLine } from '../ui/route.js';
import type { Terminal } from '../ui/terminal.js';
import { formatBytes, formatRate, formatSeconds, plural } from '../ui/units.js';
import { problemEvent, type ReceiveEvent, type ReceiveEventOf } from './events.js';
import type { ReceiveCommandOptions } from './options.js';

const BAR_CELLS = 30;
/** Problems that are listed; the others are counted. */
const MOST_NAMED = 20;

function toEvent(event: ReceiverEvent): ReceiveEvent {
  const { castId, from, files, bytes } = event;
  const facts = { castId, from, files, bytes };
  switch (event.type) {
    case 'began':
      return { event: 'began', ...facts, encrypted: event.encrypted };
    case 'route': {
      const { device, reason, gid, transports, transportReason } = event;
      const route = { device, reason, gid, transports: [...transports], transportReason };
      return { event: 'route', ...facts, ...route };
    }
    case 'progress':
      return {
        event: 'progress',
        ...facts,
        receivedBytes: event.receivedBytes,
        storedBytes: event.storedBytes,
      };
    case 'complete': {
      const { directories, links, seconds, problems, problemCount } = event;
      const { keptBytes, unchangedFiles, unchangedBytes, removed } = event;
      const here = { keptBytes, unchangedFiles, unchangedBytes, removed };
      const counts = { directories, links, seconds, problemCount, ...here };
      return { event: 'complete', ...facts, ...counts, problems: problems.map(problemEvent) };
    }
    case 'failed':
      return { event: 'failed', ...facts, code: event.code, message: event.message };
  }
}

function reached({ host, port, keyed }: ReceiveEventOf<'listening'>): string {
  if (!keyed)
    return `without a key, only this user on this machine can send: rdmc cast FILE --to ${formatEndpoint({ host, port })}`;
  return `senders need the same key: rdmc cast FILE --to HOST:${port} --key-file FILE`;
}

/** Reports the casts of a receiver: to a person by lines and bars, or to a program by events. */
export class ReceiveReporter {
  readonly #painter = new Repainter(
    (text) => void process.stdout.write(text),
    () => this.terminal.columns,
  );
  /** The latest progress of each active cast. */
  readonly #bars = new Map<string, CastReceiving>();

  constructor(
    private readonly terminal: Terminal,
    private readonly options: Pick<ReceiveCommandOptions, 'json' | 'quiet' | 'verbose'>,
  ) {}

  listening(event: ReceiveEventOf<'listening'>): void {
    if (this.options.json) {
      this.terminal.line(event);
      return;
    }
    const { bold } = this.terminal.palette;
    const { host, port, directory, metrics } = event;
    this.#say(
      `${bold('Listening')} on ${formatEndpoint({ host, port })}; files go to ${directory}`,
      `  ${reached(event)}`,
      ...(metrics === null ? [] : [`  metrics at ${metrics}`]),
    );
  }

  happened(event: ReceiverEvent): void {
    if (this.options.json) {
      this.terminal.line(toEvent(event));
      return;
    }
    if (event.type === 'progress') this.#bars.set(event.castId, event);
    if (event.type === 'complete' || event.type === 'failed') this.#bars.delete(event.castId);
    if (event.type === 'began') this.#began(event);
    if (event.type === 'route') this.#routed(event);
    if (event.type === 'complete') this.#complete(event);
    if (event.type === 'failed') this.#failed(event);
    this.#paint();
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

  #began({ from, files, bytes, encrypted }: CastBegan): void {
    const how = encrypted ? 'encrypted' : 'not encrypted';
    this.#say(`${printable(from)} sends ${plural(files, 'file')}, ${formatBytes(bytes)}, ${how}`);
  }

  /** Printed to stderr: it describes this machine, not the received files. */
  #routed(event: CastRouted): void {
    if (!this.options.quiet) this.#note(`  ${printable(event.from)}: ${routeLine(event)}`);
  }

  #complete(event: CastComplete): void {
    const { from, files, bytes, seconds, problems, problemCount, unchangedFiles, removed } = event;
    const { green, yellow } = this.terminal.palette;
    const rate = seconds > 0 && bytes > 0 ? `, ${formatRate(bytes / seconds)}` : '';
    const what = `${plural(files, 'file')}, ${formatBytes(bytes)}, verified, in ${formatSeconds(seconds)}${rate}`;
    const kept = unchangedFiles > 0 ? `, ${plural(unchangedFiles, 'file')} unchanged` : '';
    const gone = removed > 0 ? `, ${removed} removed` : '';
    this.#say(`${green('Complete')}: ${what}${kept}${gone}, from ${printable(from)}`);
    if (problemCount === 0) return;
    const named = problems.slice(0, MOST_NAMED);
    const rest = problemCount - named.length;
    this.#note(
      `${yellow('Missing')}:`,
      ...named.map(({ path, code, message }) => `  ${printable(path)}  ${code}: ${printable(message)}`),
      ...(rest > 0 ? [`  … and ${rest} more`] : []),
    );
  }

  #failed({ from, code, message }: CastFailed): void {
    const { red } = this.terminal.palette;
    this.#note(`${red('Failed')}: the cast from ${printable(from)}: ${code}: ${printable(message)}`);
  }

  #say(...lines: readonly string[]): void {
    if (!this.options.quiet) this.#painter.around(() => this.terminal.out(...lines));
  }

  #note(...lines: readonly string[]): void {
    this.#painter.around(() => this.terminal.note(...lines));
  }

  #paint(): void {
    if (!this.terminal.interactive || this.options.quiet) return;
    const lines = [...this.#bars.values()].map(({ from, bytes, receivedBytes, storedBytes }) => {
      const stored = bytes === 0 ? 0 : Math.min(1, storedBytes / bytes);
      const received = bytes === 0 ? 0 : Math.min(1, receivedBytes / bytes);
      const percent = `${String(Math.floor(received * 100)).padStart(3)}%`;
      return `  ${bar(stored, received, BAR_CELLS)} ${percent}  ${formatBytes(receivedBytes)}  from ${printable(from)}`;
    });
    this.#painter.paint(lines);
  }
}
