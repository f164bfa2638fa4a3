import { Buffer } from 'node:buffer';
import type { Command } from '../commands/command.js';
import type { RespVersion } from '../resp/writer.js';

/** The client of a request. Replies, and parts of them, that it cannot have yet count as its output. */
export interface Receiver {
  /** So many bytes more are kept for it; negative: fewer. Returns false when the client has gone: then nothing need be kept. */
  hold(bytes: number): boolean;
}

/** A command on its way to the server of its slot. */
export interface Request {
  /** Of its first key. −1: the command is for one server, not for a slot. */
  readonly slot: number;
  /** Of all its keys, some perhaps twice; undefined: it has one slot. */
  readonly slots?: readonly number[];
  readonly version: RespVersion;
  readonly receiver: Receiver;
  /** The command in RESP; a copy. */
  readonly bytes: Buffer;
  /** Whether it is a write: then it is not sent a second time when its outcome is unknown. */
  readonly writes: boolean;
  /** Set for a command with many keys, which may belong to several servers after its wait. */
  readonly command?: Command;
  /** Rises with each request that came; requests of a slot are done in this order. Parts of a command have one. */
  order?: number;
  /** The end of its wait for a server of its slot. */
  deadline?: number;
  /** The slot table's epoch by which it was sent last; 0: that was lost. */
  epoch?: number;
  /** The reply in RESP, which may be an error. */
  readonly done: (reply: Buffer) => void;
}

/** In place of a reply whose client has gone. */
export const UNWANTED = errorReply('ERR the client has gone');

export function errorReply(text: string): Buffer {
  return Buffer.from(`-${text}\r\n`);
}
