import type { Arguments } from '../resp/arguments.js';

/** How a POST request begins, and the header that each request has. */
const FIRST_WORDS = ['POST', 'HOST:'];

/**
 * Whether a command is a line of an HTTP request, which a web page had a browser send: its body could hold commands, so
 * the connection must end before them, as Redis does.
 */
export function isHttp(args: Arguments): boolean {
  return FIRST_WORDS.includes(args.word(0));
}
