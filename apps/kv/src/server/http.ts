import type { Arguments } from '../resp/arguments.js';

/** The first word of a POST request, and the header of each request. */
const FIRST_WORDS = ['POST', 'HOST:'];

/**
 * Whether a command is a line of an HTTP request. A web page can have a browser send one with commands in its body, so the
 * connection must end before the body. Redis does the same.
 */
export function isHttp(args: Arguments): boolean {
  return FIRST_WORDS.includes(args.word(0));
}
