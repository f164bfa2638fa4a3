import { Buffer } from 'node:buffer';
import { KvError } from '../errors.js';
import type { Arguments } from './arguments.js';

/** Blanks of ASCII: `\s` would take bytes of UTF-8 for some, such as the second one of 'à'. */
const BLANK = /[ \t\n\v\f\r]/;
/** A quoted part may hold escapes, so words are rebuilt into memory of their own. */
const WORD = /(?:"((?:\\.|[^"\\])*)"|'((?:\\'|[^'])*)'|([^ \t\n\v\f\r"']+))/y;
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', a: '\x07' };

/**
 * Splits a line into words as Redis does: blanks between them, quotes around words with blanks. False for an empty line.
 * @throws KvError ERR_RDMC_KV_PROTOCOL for quotes that do not close
 */
export function splitInline(buffer: Buffer, start: number, end: number, into: Arguments): boolean {
  const line = buffer.toString('latin1', start, end);
  const words: Buffer[] = [];
  let at = afterBlanks(line, 0);
  if (at === line.length) return false;
  while (at < line.length) {
    let word = '';
    // Neighbouring parts are one word only outside of quotes: a closing quote must be followed by a blank.
    WORD.lastIndex = at;
    const match = WORD.exec(line);
    if (!match) throw unbalanced();
    at = WORD.lastIndex;
    if (at < line.length && !BLANK.test(line[at]!)) throw unbalanced();
    word = match[1] !== undefined ? unescaped(match[1]) : (match[2]?.replaceAll("\\'", "'") ?? match[3]!);
    words.push(Buffer.from(word, 'latin1'));
    at = afterBlanks(line, at);
  }
  into.buffer = Buffer.concat(words);
  let position = 0;
  for (const { length } of words) {
    into.push(position, position + length);
    position += length;
  }
  return true;
}

function afterBlanks(line: string, from: number): number {
  let at = from;
  while (at < line.length && BLANK.test(line[at]!)) at += 1;
  return at;
}

function unescaped(text: string): string {
  return text.replace(/\\(x[0-9a-fA-F]{2}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : (ESCAPES[code] ?? code),
  );
}

function unbalanced(): KvError {
  return new KvError('ERR_RDMC_KV_PROTOCOL', 'Protocol error: unbalanced quotes in request');
}
