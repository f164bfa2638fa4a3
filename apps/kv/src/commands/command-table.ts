import type { Arguments } from '../resp/arguments.js';
import type { Command } from './command.js';

/** Finds commands by the bytes of their names, in any case. */
export class CommandTable {
  readonly #ofClients: ReadonlyMap<number, Command>;
  readonly #ofServers: ReadonlyMap<number, Command>;

  /**
   * @param internal commands that only servers send to each other
   * @param unlisted commands of clients that COMMAND does not list
   */
  constructor(
    readonly all: readonly Command[],
    internal: readonly Command[] = [],
    unlisted: readonly Command[] = [],
  ) {
    this.#ofClients = byHash([...all, ...unlisted]);
    this.#ofServers = byHash([...all, ...internal]);
  }

  /** A command of a client. */
  find(args: Arguments): Command | undefined {
    return findIn(this.#ofClients, args);
  }

  /** A command of a server, for a client. */
  findOfServer(args: Arguments): Command | undefined {
    return findIn(this.#ofServers, args);
  }
}

function byHash(commands: readonly Command[]): Map<number, Command> {
  const found = new Map<number, Command>();
  for (const command of commands) {
    const bytes = Buffer.from(command.name);
    const hash = hashOf(bytes, 0, bytes.length);
    if (found.has(hash)) throw new Error(`Two commands have the hash of '${command.name}'`);
    found.set(hash, command);
  }
  return found;
}

function findIn(
  commands: ReadonlyMap<number, Command>,
  { buffer, starts, ends }: Arguments,
): Command | undefined {
  const [start, end] = [starts[0]!, ends[0]!];
  const command = commands.get(hashOf(buffer, start, end));
  if (command?.name.length !== end - start) return undefined;
  for (let i = 0; i < command.name.length; i += 1) {
    if ((buffer[start + i]! | 0x20) !== command.name.charCodeAt(i)) return undefined;
  }
  return command;
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at]! | 0x20)) | 0;
  return hash;
}
