import { Buffer } from 'node:buffer';

/** A command in RESP; one character of a word is one byte. */
export function encodeCommand(words: readonly string[]): Buffer {
  const parts = words.map((word) => `$${word.length}\r\n${word}\r\n`);
  return Buffer.from(`*${words.length}\r\n${parts.join('')}`, 'latin1');
}
