import { Buffer } from 'node:buffer';

const LF = 10;
const [PLUS, MINUS, COLON, DOLLAR, STAR, UNDERSCORE] = [43, 45, 58, 36, 42, 95] as const;

/** A reply of RESP2; an error is an Error whose message is the server's text. */
export type Reply = string | number | null | Error | Reply[];

/** Splits a stream of bytes into replies. */
export class ReplyReader {
  #buffer: Buffer = Buffer.alloc(0);
  #at = 0;
  /** Chunks behind the buffer, and the bytes of both. They are joined when a bulk string is whole: it may have many chunks. */
  readonly #later: Buffer[] = [];
  #bytes = 0;
  /** The least number of bytes that the next reply needs. */
  #needed = 0;

  push(chunk: Buffer): void {
    this.#later.push(chunk);
    this.#bytes += chunk.length;
  }

  /** The next reply; undefined: it has not arrived whole. */
  next(): Reply | undefined {
    if (this.#bytes < this.#needed) return undefined;
    this.#join();
    const start = this.#at;
    const reply = this.#read();
    if (reply === undefined) this.#at = start;
    else this.#needed = 0;
    return reply;
  }

  #join(): void {
    if (this.#later.length === 0) return;
    const rest = this.#buffer.subarray(this.#at);
    const chunks = this.#later.splice(0);
    this.#needed = 0;
    this.#buffer = rest.length === 0 && chunks.length === 1 ? chunks[0]! : Buffer.concat([rest, ...chunks]);
    this.#bytes = this.#buffer.length;
    this.#at = 0;
  }

  #read(): Reply | undefined {
    const end = this.#buffer.indexOf(LF, this.#at);
    if (end < 0) return undefined;
    const type = this.#buffer[this.#at];
    const line = this.#buffer.toString('latin1', this.#at + 1, end - 1);
    this.#at = end + 1;
    if (type === PLUS) return line;
    if (type === MINUS) return new Error(line);
    if (type === COLON) return Number(line);
    if (type === UNDERSCORE) return null;
    if (type === DOLLAR) return this.#bulk(Number(line));
    if (type === STAR) return this.#array(Number(line));
    throw new Error(`a reply of RESP does not begin with '${String.fromCharCode(type ?? 0)}'`);
  }

  #bulk(length: number): string | null | undefined {
    if (length < 0) return null;
    const start = this.#at;
    if (this.#buffer.length < start + length + 2) {
      this.#needed = start + length + 2;
      return undefined;
    }
    this.#at = start + length + 2;
    return this.#buffer.toString('latin1', start, start + length);
  }

  #array(length: number): Reply[] | null | undefined {
    if (length < 0) return null;
    const elements: Reply[] = [];
    for (let i = 0; i < length; i += 1) {
      const element = this.#read();
      if (element === undefined) return undefined;
      elements.push(element);
    }
    return elements;
  }
}
