import type { CastLogger, ReceiverEvent } from '@rdmc/cast';
import { errorDocument } from '../errors.js';
import { formatBytes, plural } from '../ui/units.js';
import type { ReceiveEvent } from './events.js';

/** The levels of a record. */
type Level = 'debug' | 'info' | 'warn' | 'error';

/** Writes one line, without its line feed. */
export type WriteLine = (line: string) => void;

/** A record of `--log-json`: time (ISO 8601), level, event and message come first. */
export function logRecord(
  level: Level,
  event: string,
  message: string,
  fields: object,
  now = new Date(),
): Record<string, unknown> {
  return { time: now.toISOString(), level, event, message, ...fields };
}

/** The record of an error that ends the command. */
export function errorRecord(error: unknown, now?: Date): Record<string, unknown> {
  const { message, ...fields } = errorDocument(error);
  return logRecord('error', 'error', message, fields, now);
}

function levelOf(event: ReceiverEvent): Level {
  if (event.type === 'failed') return 'error';
  return event.type === 'complete' && event.problemCount > 0 ? 'warn' : 'info';
}

function messageOf(event: ReceiverEvent): string {
  const { from, files, bytes } = event;
  if (event.type === 'failed')
    return `the ${event.dryRun ? 'dry run' : 'cast'} from ${from} failed: ${event.message}`;
  if (event.type === 'route') return `the cast from ${from} uses device ${event.device}`;
  if (event.type === 'began') return `a ${event.dryRun ? 'dry run' : 'cast'} from ${from} began`;
  if (event.type === 'complete' && event.dryRun)
    return `a dry run from ${from} has ended; nothing was changed`;
  const what = `${plural(files, 'file')}, ${formatBytes(bytes)}`;
  const missing = event.type === 'complete' ? event.problemCount : 0;
  if (missing > 0) return `${what} from ${from} stored; number of missing entries: ${missing}`;
  return `${what} from ${from} stored`;
}

/** The log of `rdmc receive --log-json`: one JSON object per line, for collectors of logs. Progress is not logged. */
export class JsonLog {
  constructor(private readonly write: WriteLine) {}

  listening({ event, ...fields }: Extract<ReceiveEvent, { event: 'listening' }>): void {
    this.#record('info', event, `listening on ${fields.host} port ${fields.port}`, fields);
  }

  /** @param document the event as `--json` prints it */
  happened(event: ReceiverEvent, { event: name, ...fields }: ReceiveEvent): void {
    if (event.type === 'progress') return;
    const { message: reason, ...rest } = fields as { message?: string };
    this.#record(levelOf(event), name, messageOf(event), { ...rest, ...(reason && { reason }) });
  }

  /** The log of the library. */
  get logger(): CastLogger {
    const at =
      (level: Level) =>
      (details: object, message: string): void =>
        this.#record(level, 'log', message, { details });
    return { info: at('info'), warn: at('warn'), error: at('error') };
  }

  #record(level: Level, event: string, message: string, fields: object): void {
    this.write(JSON.stringify(logRecord(level, event, message, fields)));
  }
}
