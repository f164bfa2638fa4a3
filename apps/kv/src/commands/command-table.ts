import type { Arguments } from '../resp/arguments.js';
import type { Command } from './command.js';

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
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at]! | 0x20)) | 0;
  return hash;
}
