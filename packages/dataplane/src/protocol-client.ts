import type { CommandQueue } from './command-queue.js';
import type { DataPlaneError } from './errors.js';
import {
  answerDecoderOf,
  decoderOf,
  type Encode,
  encoderOf,
  type Handler,
  type RecordView,
} from './record-codec.js';
import { eventFunctions } from './record-functions.js';
import type { Call, EventHandlers, ProtocolClient, RecordTable } from './record-table.js';
import { tagOf } from './records.js';

/** The parts of a data plane that a client uses. */
export interface ClientParts {
  readonly commands: CommandQueue;
  /** The number of the protocol. */
  readonly protocol: number;
  /** The reason why commands cannot be sent any more; undefined while they can. */
  readonly ended: () => DataPlaneError | undefined;
}

/** The functions that send the commands of a table to a protocol in the worker. */
export function createClient<Table extends RecordTable>(
  records: Table,
  parts: ClientParts,
): ProtocolClient<Table> {
  const entries = Object.entries(records.commands).map(([name, record], kind) => {
    const tag = tagOf(parts.protocol, kind);
    const encode = encoderOf(record.payload);
    const send = record.answer ? caller(record, tag, encode, parts) : poster(tag, encode, parts);
    return [name, send];
  });
  return Object.fromEntries(entries) as ProtocolClient<Table>;
}

function poster(tag: number, encode: Encode, { commands, ended }: ClientParts): Handler {
  return (a, b, c, d, e, f, g, h) => {
    if (ended()) return false;
    return commands.post(tag, encode(a, b, c, d, e, f, g, h));
  };
}

function caller(
  { answer }: Call<readonly unknown[], readonly unknown[]>,
  tag: number,
  encode: Encode,
  { commands, ended }: ClientParts,
): Handler {
  const decode = answerDecoderOf(answer);
  return (a, b, c, d, e, f, g, h) => {
    const error = ended();
    if (error) return Promise.reject(error);
    return commands.command(tag, () => encode(a, b, c, d, e, f, g, h), decode);
  };
}

/**
 * Passes the events of a protocol to the application's functions.
 * @throws DataPlaneError ERR_RDMC_INVALID_OPTION if a function is missing
 */
export function eventSink<Table extends RecordTable>(
  records: Table,
  handlers: EventHandlers<Table>,
): (kind: number, record: RecordView) => void {
  const functions = eventFunctions(records, handlers);
  const decoders = Object.entries(records.events).map(([name, payload]) =>
    decoderOf(payload, functions.get(name)!),
  );
  return (kind, record) => void decoders[kind]!(record);
}
