/** One command with keys at several servers, or with a part for each server. */
import { Buffer } from 'node:buffer';
import type { Merge } from '../commands/command.js';
import { parseInteger } from '../resp/arguments.js';
import { ERROR_MARK } from '../resp/writer.js';
import { type Receiver, UNWANTED } from './request.js';

const LF = 10;
const DOLLAR = 36;

/** Collects the parts' replies, which count as output of the client. The first error is the reply of all. */
export class ReplyMerge {
  readonly #replies: (Buffer | undefined)[];
  #missing: number;
  #heldBytes = 0;

  constructor(
    private readonly parts: readonly { positions: readonly number[] }[],
    private readonly merge: Merge,
    private readonly receiver: Receiver,
    private readonly done: (reply: Buffer) => void,
  ) {
    this.#replies = new Array(parts.length).fill(undefined);
    this.#missing = parts.length;
  }

  take(index: number, reply: Buffer): void {
    this.#heldBytes += reply.length;
    // A copy, so that the memory of a frame is not kept for a part of it.
    this.#replies[index] = this.receiver.hold(reply.length) ? Buffer.from(reply) : UNWANTED;
    this.#missing -= 1;
    if (this.#missing > 0) return;
    this.receiver.hold(-this.#heldBytes);
    this.done(this.#merged(this.#replies as Buffer[]));
  }

  #merged(replies: readonly Buffer[]): Buffer {
    const failed = replies.find((reply) => reply[0] === ERROR_MARK);
    if (failed) return failed;
    switch (this.merge) {
      case 'ok':
        return replies[0]!;
      case 'sum':
        return Buffer.from(`:${replies.reduce((sum, reply) => sum + header(reply).value, 0)}\r\n`);
      case 'concatenation': {
        const bodies = replies.map((reply) => reply.subarray(header(reply).end));
        const count = replies.reduce((sum, reply) => sum + header(reply).value, 0);
        return Buffer.concat([Buffer.from(`*${count}\r\n`), ...bodies]);
      }
      case 'positions':
        return this.#inPlace(replies);
    }
  }

  /** The elements in the order of the command's keys. */
  #inPlace(replies: readonly Buffer[]): Buffer {
    const elements: Buffer[] = [];
    replies.forEach((reply, index) => {
      let at = header(reply).end;
      for (const position of this.parts[index]!.positions) {
        const end = elementEnd(reply, at);
        elements[position] = reply.subarray(at, end);
        at = end;
      }
    });
    return Buffer.concat([Buffer.from(`*${elements.length}\r\n`), ...elements]);
  }
}

/** The number behind a type, and where its line ends. */
function header(reply: Buffer, at = 0): { value: number; end: number } {
  const line = reply.indexOf(LF, at);
  return { value: parseInteger(reply, at + 1, line - 1) ?? 0, end: line + 1 };
}

/** The end of a bulk string, or of a missing value: `$-1` in RESP2, `_` in RESP3. */
function elementEnd(reply: Buffer, at: number): number {
  const { value, end } = header(reply, at);
  return reply[at] === DOLLAR && value >= 0 ? end + value + 2 : end;
}
