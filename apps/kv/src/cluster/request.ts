import { Buffer } from 'node:buffer';
import type { Command } from '../commands/command.js';
import type { RespVersion } from '../resp/writer.js';

/** A command on its way to the server of its slot. */
export interface Request {
  /** −1: it is for one server, whatever that owns. */
  readonly slot: number;
  readonly version: RespVersion;
  /** The command in RESP; a copy. */
  readonly bytes: Buffer;
  /** Whether it may change something: then it is not sent a second time when its outcome is unknown. */
  readonly writes: boolean;
  /** Where it has many keys, which may come to lie at several servers while it waits. */
  readonly command?: Command;
  /** When it is given up, while nobody serves its slot. */
  deadline?: number;
  /** The slot table's epoch by which it was sent last. */
  epoch?: number;
  /** The reply in RESP, which may be an error. */
  readonly done: (reply: Buffer) => void;
}

export function errorReply(text: string): Buffer {
  return Buffer.from(`-${text}\r\n`);
}
