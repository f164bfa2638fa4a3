import type { Arguments } from '../resp/arguments.js';
import type { RespVersion } from '../resp/writer.js';
import type { Executor } from '../server/executor.js';

/** What a connection remembers. */
export interface Session {
  readonly id: number;
  version: RespVersion;
  name: string;
  authenticated: boolean;
  readonly address: string;
  /** The connection ends when its replies have left. */
  quit(): void;
}

/**
 * Where a command runs: at the server it came to; where its key is; where each of its keys is; at all servers; or
 * where the slot is that a scan has come to.
 */
export type Route = 'here' | 'key' | 'keys' | 'everywhere' | 'scan';
/** How the replies of several servers become one. */
export type Merge = 'sum' | 'ok' | 'positions' | 'concatenation';

export interface Command {
  /** Lower case. */
  readonly name: string;
  /** Arguments, the name included; negative: at least. */
  readonly arity: number;
  readonly flags: readonly string[];
  readonly route: Route;
  /** Arguments from one key to the next; 0 without keys. */
  readonly step: number;
  readonly merge: Merge | undefined;
  /** Where it is done in steps: it is sent again as long as the reply is an integer; the client's next command waits. */
  readonly inSteps: boolean;
  /** Writes exactly one reply, at once. @throws CommandError, which becomes the reply */
  readonly run: (x: Executor, args: Arguments, session: Session) => void;
}

type Details = Partial<Pick<Command, 'route' | 'step' | 'merge' | 'inSteps'>>;

/** A command on the one key that is its first argument. */
export function keyCommand(name: string, arity: number, flags: string, run: Command['run']): Command {
  return define(name, arity, flags, run, { route: 'key', step: 1 });
}

export function define(
  name: string,
  arity: number,
  flags: string,
  run: Command['run'],
  { route = 'here', step = 0, merge, inSteps = false }: Details = {},
): Command {
  return { name, arity, flags: flags.split(' '), route, step, merge, inSteps, run };
}

/** Finds commands by the bytes of their names, in any case. */
export class CommandTable {
  readonly #byHash = new Map<number, Command>();

  constructor(readonly all: readonly Command[]) {
    for (const command of all) {
      const bytes = Buffer.from(command.name);
      const hash = hashOf(bytes, 0, bytes.length);
      if (this.#byHash.has(hash)) throw new Error(`Two commands have the hash of '${command.name}'`);
      this.#byHash.set(hash, command);
    }
  }

  find({ buffer, starts, ends }: Arguments): Command | undefined {
    const [start, end] = [starts[0]!, ends[0]!];
    const command = this.#byHash.get(hashOf(buffer, start, end));
    if (command?.name.length !== end - start) return undefined;
    for (let i = 0; i < command.name.length; i += 1) {
      if ((buffer[start + i]! | 0x20) !== command.name.charCodeAt(i)) return undefined;
    }
    return command;
  }

  get(name: string): Command | undefined {
    return this.all.find((command) => command.name === name.toLowerCase());
  }
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at]! | 0x20)) | 0;
  return hash;
}
