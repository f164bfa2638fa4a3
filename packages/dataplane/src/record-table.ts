/**
 * The commands and events between the application and a protocol, as one table that both sides import. It gives the
 * application the functions that send commands, the protocol the functions that emit events, and both sides the types
 * of their handlers.
 *
 * ```ts
 * export const pingRecords = recordTable({
 *   commands: {
 *     open: call(json<PingSetup>(), json<QueuePairAddress>()),     // client.open(setup): Promise<QueuePairAddress>
 *     ping: post(numbers<[channel: number, count: number]>(2)),    // client.ping(channel, count), without an answer
 *   },
 *   events: { pong: numbers<[channel: number, count: number]>(2) },
 * });
 * ```
 *
 * If the protocol runs in the worker, numbers are encoded as a row of Float64 (little endian, 8 bytes each), without
 * allocation; `json` as JSON in UTF-8; `bytes` are copied. If it runs in the application's thread, numbers and `json`
 * values are passed without encoding, and `bytes` are copied.
 */
import { MAX_KIND, MAX_NUMBERS } from './constants.js';
import { DataPlaneError } from './errors.js';

/** The arguments of one record. */
export interface Payload<Args extends readonly unknown[]> {
  /** How the arguments are encoded. */
  readonly shape: 'nothing' | 'json' | 'bytes' | 'numbers';
  /** The number of `numbers`. */
  readonly count: number;
  /** For the compiler only; never set. */
  readonly args?: Args;
}

/** A record without a payload. */
export const nothing: Payload<[]> = { shape: 'nothing', count: 0 };

/** Bytes. The receiver may keep them. */
export const bytes: Payload<[bytes: Uint8Array]> = { shape: 'bytes', count: 0 };

/** One value that JSON can represent. Do not change it afterwards. */
export function json<Value>(): Payload<[value: Value]> {
  return { shape: 'json', count: 0 };
}

/** Up to 8 numbers, for records that are sent often: `numbers<[channel: number, sequence: number]>(2)`. */
export function numbers<Numbers extends readonly number[]>(count: Numbers['length']): Payload<Numbers> {
  return { shape: 'numbers', count };
}

/** A command without an answer. */
export interface Post<Args extends readonly unknown[]> {
  /** The arguments of the command. */
  readonly payload: Payload<Args>;
  /** Always undefined: distinguishes posts from calls. */
  readonly answer: undefined;
}

/** A command with an answer. */
export interface Call<Args extends readonly unknown[], Answer extends readonly unknown[]> {
  /** The arguments of the command. */
  readonly payload: Payload<Args>;
  /** The value of the answer. */
  readonly answer: Payload<Answer>;
}

/** Describes a command without an answer. */
export function post<Args extends readonly unknown[]>(payload: Payload<Args>): Post<Args> {
  return { payload, answer: undefined };
}

/** Describes a command with an answer; without `answer` the promise resolves without a value. */
export function call<Args extends readonly unknown[]>(payload: Payload<Args>): Call<Args, []>;
export function call<Args extends readonly unknown[], Answer>(
  payload: Payload<Args>,
  answer: Payload<[value: Answer]>,
): Call<Args, [value: Answer]>;
export function call<Args extends readonly unknown[]>(
  payload: Payload<Args>,
  answer: Payload<readonly unknown[]> = nothing,
): Call<Args, readonly unknown[]> {
  return { payload, answer };
}

/** The arguments of a record of any shape. */
// biome-ignore lint/suspicious/noExplicitAny: a row of arguments of any types, which `unknown` does not accept
type AnyArguments = any;

/** The commands and events of a protocol. */
export interface RecordTable {
  /** From the application to the protocol: the results of `post` and `call`, by name. */
  readonly commands: Readonly<Record<string, Post<AnyArguments> | Call<AnyArguments, AnyArguments>>>;
  /** From the protocol to the application, by name. */
  readonly events: Readonly<Record<string, Payload<AnyArguments>>>;
}

// biome-ignore lint/suspicious/noConfusingVoidType: the return type of functions that return nothing
type Value<Answer> = Answer extends readonly [infer Only] ? Only : void;

/** The protocol's side of a table: a function for each command. A call may answer later, with a promise. */
export type CommandHandlers<Table extends RecordTable> = {
  readonly [Name in keyof Table['commands']]: Table['commands'][Name] extends Call<infer Args, infer Answer>
    ? (...args: Args) => Value<Answer> | Promise<Value<Answer>>
    : Table['commands'][Name] extends Post<infer Args>
      ? (...args: Args) => void
      : never;
};

/**
 * The application's side: a function that sends each command. A post returns false if the record waits for room in the
 * command ring. After the end of the protocol posts are dropped, and calls reject.
 */
export type ProtocolClient<Table extends RecordTable> = {
  readonly [Name in keyof Table['commands']]: Table['commands'][Name] extends Call<infer Args, infer Answer>
    ? (...args: Args) => Promise<Value<Answer>>
    : Table['commands'][Name] extends Post<infer Args>
      ? (...args: Args) => boolean
      : never;
};

/** A function for each event: the protocol calls it, and the application provides it. */
export type EventHandlers<Table extends RecordTable> = {
  readonly [Name in keyof Table['events']]: Table['events'][Name] extends Payload<infer Args>
    ? (...args: Args extends readonly unknown[] ? Args : never) => void
    : never;
};

/**
 * Checks a table. The kinds of its records are their positions, so both sides must have the same table.
 * @throws DataPlaneError ERR_RDMC_INVALID_PROTOCOL
 */
export function recordTable<const Table extends RecordTable>(table: Table): Table {
  const { commands, events } = (table ?? {}) as Partial<RecordTable>;
  const isComplete = isObject(commands) && isObject(events);
  if (!isComplete) throw invalid('must have `commands` and `events`; use {} if there are none');
  for (const [name, command] of Object.entries(commands)) {
    checkPayload(name, (command as { payload?: unknown } | undefined)?.payload, MAX_NUMBERS);
    if (command.answer) checkPayload(`the answer to ${name}`, command.answer, 1);
  }
  for (const [name, payload] of Object.entries(events)) checkPayload(name, payload, MAX_NUMBERS);
  if (Math.max(Object.keys(commands).length, Object.keys(events).length) > MAX_KIND) {
    throw invalid(`may have at most ${MAX_KIND} commands and ${MAX_KIND} events`);
  }
  return table;
}

const SHAPES: readonly unknown[] = ['nothing', 'json', 'bytes', 'numbers'];

function checkPayload(name: string, payload: unknown, maxNumbers: number): void {
  const { shape, count } = (payload ?? {}) as { shape?: unknown; count?: unknown };
  if (!SHAPES.includes(shape)) {
    throw invalid(
      `may have call(…) and post(…) as commands, and nothing, json(), bytes or numbers(…) as events; see '${name}'`,
    );
  }
  const isCount = Number.isInteger(count) && (count as number) >= 0 && (count as number) <= maxNumbers;
  if (!isCount)
    throw invalid(`may have records of 0 to ${maxNumbers} numbers, not ${String(count)}; see '${name}'`);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function invalid(rule: string): DataPlaneError {
  return new DataPlaneError('ERR_RDMC_INVALID_PROTOCOL', `A record table ${rule}`);
}
