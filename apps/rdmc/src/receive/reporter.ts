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
import { folded } from '../ui/fold.js';
import { printable } from '../ui/printable.js';
import { Repainter } from '../ui/repainter.js';
import { routeLine } from '../ui/route.js';
import type { Terminal } from '../ui/terminal.js';
import { formatBytes, plural } from '../ui/units.js';
import { problemEvent, type ReceiveEvent, type ReceiveEventOf } from './events.js';
import { JsonLog } from './log.js';
import type { ReceiveCommandOptions } from './options.js';
import { describeComplete, describeFailed, describeMissing, drawReceiving } from './summary.js';
import { describeUnset } from './unset.js';

function toEvent(event: ReceiverEvent): ReceiveEvent {
  const { castId, from, files, bytes } = event;
  const facts = { castId, from, files, bytes };
  switch (event.type) {
    case 'began':
      return { event: 'began', ...facts, encrypted: event.encrypted, dryRun: event.dryRun ?? false };
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
      const { directories, links, seconds, problems, problemCount, dryRun = false } = event;
      const { keptBytes, resumedBytes, unchangedFiles, unchangedBytes, removed, unset = null } = event;
      const here = { keptBytes, resumedBytes, unchangedFiles, unchangedBytes, removed, unset };
      const counts = { dryRun, directories, links, seconds, problemCount, ...here };
      return { event: 'complete', ...facts, ...counts, problems: problems.map(problemEvent) };
    }
    case 'failed': {
      const { code, message, dryRun = false } = event;
      return { event: 'failed', ...facts, dryRun, code, message };
    }
  }
}

function reached({ host, port, keyed }: ReceiveEventOf<'listening'>): string {
  if (!keyed)
    return `without a key, only this user on this machine can send: rdmc cast FILE --to ${formatEndpoint({ host, port })}`;
  return `senders need the same key: rdmc cast FILE --to HOST:${port} --key-file FILE`;
}

type Outputs = Pick<ReceiveCommandOptions, 'json' | 'quiet' | 'verbose'> &
  Partial<Pick<ReceiveCommandOptions, 'logJson'>>;

/** Reports the casts of a receiver: to a person by lines and bars, or to a program by events. */
export class ReceiveReporter {
  readonly #painter = new Repainter(
    (text) => void process.stdout.write(text),
    () => this.terminal.columns,
  );
  readonly #log: JsonLog | undefined;
  /** The latest progress of each active cast. */
  readonly #bars = new Map<string, CastReceiving>();

  constructor(
    private readonly terminal: Terminal,
    private readonly options: Outputs,
  ) {
    this.#log = options.logJson ? new JsonLog((line) => terminal.note(line)) : undefined;
  }

  listening(event: ReceiveEventOf<'listening'>): void {
    this.#log?.listening(event);
    if (this.options.json) this.terminal.line(event);
    if (this.options.json || this.#log) return;
    const { bold } = this.terminal.palette;
    const { host, port, directory, sharedMemory, metrics } = event;
    const memory = sharedMemory === null ? 'standard output' : `shared memory, /dev/shm/${sharedMemory}`;
    this.#say(
      `${bold('Listening')} on ${formatEndpoint({ host, port })}; files go to ${directory ?? memory}`,
      `  ${reached(event)}`,
      ...(metrics === null ? [] : [`  metrics at ${metrics}`]),
    );
  }

  happened(event: ReceiverEvent): void {
    const { json } = this.options;
    if (json || this.#log) {
      const document = toEvent(event);
      if (json) this.terminal.line(document);
      this.#log?.happened(event, document);
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
    if (this.#log) return this.#log.logger;
    if (!this.options.verbose) return undefined;
    const log = (details: object, message: string): void => {
      const line = `  ${message} ${this.terminal.palette.dim(JSON.stringify(details))}`;
      this.#painter.around(() => this.terminal.note(line));
    };
    return { debug: log, info: log, warn: log, error: log };
  }

  #began({ from, files, bytes, encrypted, dryRun }: CastBegan): void {
    const size = bytes === 0 ? '' : `, ${formatBytes(bytes)}`;
    if (dryRun) {
      this.#say(`${printable(from)} asks what a cast of ${plural(files, 'file')}${size} would change`);
      return;
    }
    const how = encrypted ? 'encrypted' : 'not encrypted';
    this.#say(`${printable(from)} sends ${plural(files, 'file')}${size}, ${how}`);
  }

  /** Printed to stderr: it describes this machine, not the received files. */
  #routed(event: CastRouted): void {
    if (!this.options.quiet) this.#note(`  ${printable(event.from)}: ${routeLine(event)}`);
  }

  #complete(event: CastComplete): void {
    const { palette } = this.terminal;
    this.#say(describeComplete(event, palette));
    const missing = describeMissing(event, palette);
    if (missing.length > 0) this.#note(...missing);
    if (event.unset && !this.options.quiet) this.#note(describeUnset('This receiver', event.unset));
  }

  #failed(event: CastFailed): void {
    this.#note(describeFailed(event, this.terminal.palette));
  }

  #say(...lines: readonly string[]): void {
    if (!this.options.quiet) this.#painter.around(() => this.terminal.out(...folded(this.terminal, lines)));
  }

  #note(...lines: readonly string[]): void {
    this.#painter.around(() => this.terminal.note(...folded(this.terminal, lines)));
  }

  #paint(): void {
    if (!this.terminal.interactive || this.options.quiet) return;
    const { columns } = this.terminal;
    const lines = [...this.#bars.values()].map((event) => drawReceiving(event, columns));
    this.#painter.paint(lines);
  }
}
