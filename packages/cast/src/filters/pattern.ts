import { MAX_PATH_BYTES } from '../constants.js';
import { CastError } from '../errors.js';
import { classNamed } from './character-classes.js';

/** One element of a pattern. Text is compared byte by byte, as latin1. */
type Token =
  | { readonly kind: 'byte'; readonly byte: number }
  /** `?`: any byte except a slash. */
  | { readonly kind: 'any' }
  /** `[...]`: one of some bytes; never a slash. */
  | { readonly kind: 'class'; readonly has: Uint8Array }
  /** `*`: any bytes except slashes. */
  | { readonly kind: 'star' }
  /** `**`: any bytes. */
  | { readonly kind: 'stars' };

const SLASH = 0x2f;
const BYTES = 256;

/**
 * A filter pattern, with the rules of rsync's manual ("INCLUDE/EXCLUDE PATTERN RULES"). Matching takes at most time
 * in proportion to the product of both lengths, whatever the pattern: receivers match patterns of the sender.
 */
export class Pattern {
  readonly #tokens: readonly Token[];
  readonly #isAnchored: boolean;
  /** The whole path is compared, rather than the last component. */
  readonly #hasPath: boolean;
  readonly #onlyDirectories: boolean;
  /** `name/***`: the directory, and everything in it. */
  readonly #withContents: boolean;

  /** @throws CastError ERR_RDMC_INVALID_PATTERN */
  constructor(readonly text: string) {
    const bytes = Buffer.from(text, 'utf8').toString('latin1');
    if (bytes.length === 0) throw invalid(text, 'it is empty');
    if (bytes.length > MAX_PATH_BYTES) throw invalid(text, `it has more than ${MAX_PATH_BYTES} bytes`);
    if (bytes.includes('\0')) throw invalid(text, 'it contains a zero byte');
    this.#withContents = bytes.endsWith('/***');
    const whole = this.#withContents ? bytes.slice(0, -'/***'.length) : bytes;
    this.#onlyDirectories = !this.#withContents && whole.length > 1 && whole.endsWith('/');
    const inner = this.#onlyDirectories ? whole.slice(0, -1) : whole;
    this.#isAnchored = inner.startsWith('/');
    const body = this.#isAnchored ? inner.slice(1) : inner;
    if (body.length === 0) throw invalid(text, 'it does not name an entry');
    this.#hasPath = this.#isAnchored || body.includes('/') || body.includes('**');
    this.#tokens = tokensOf(text, body);
  }

  /** @param path a path of the cast as latin1, without a slash at either end */
  matches(path: string, isDirectory: boolean): boolean {
    if (this.#withContents) return this.#matchesBelow(path, isDirectory);
    if (this.#onlyDirectories && !isDirectory) return false;
    return this.#matchesText(path);
  }

  /** Whether the path, or a directory that it is in, matches. */
  #matchesBelow(path: string, isDirectory: boolean): boolean {
    if (isDirectory && this.#matchesText(path)) return true;
    for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
      if (this.#matchesText(path.slice(0, end))) return true;
      if (end === 0) break;
    }
    return false;
  }

  #matchesText(path: string): boolean {
    if (!this.#hasPath) return isMatch(this.#tokens, path, path.lastIndexOf('/') + 1, false);
    return isMatch(this.#tokens, path, 0, !this.#isAnchored);
  }
}

/**
 * Whether the tokens match the text from `start` to its end. Keeps the set of tokens that may come next, so that it
 * never goes back.
 * @param later whether a match may also begin after any slash
 */
function isMatch(tokens: readonly Token[], text: string, start: number, later: boolean): boolean {
  let current = new Uint8Array(tokens.length + 1);
  let next = new Uint8Array(tokens.length + 1);
  enter(tokens, current, 0);
  for (let at = start; at < text.length; at += 1) {
    const byte = text.charCodeAt(at);
    next.fill(0);
    for (const [index, token] of tokens.entries()) if (current[index]) step(tokens, next, index, token, byte);
    if (later && byte === SLASH) enter(tokens, next, 0);
    [current, next] = [next, current];
  }
  return current[tokens.length] === 1;
}

function step(tokens: readonly Token[], next: Uint8Array, index: number, token: Token, byte: number): void {
  if (token.kind === 'stars' || (token.kind === 'star' && byte !== SLASH)) enter(tokens, next, index);
  else if (isOne(token, byte)) enter(tokens, next, index + 1);
}

function isOne(token: Token, byte: number): boolean {
  if (token.kind === 'byte') return token.byte === byte;
  if (token.kind === 'any') return byte !== SLASH;
  return token.kind === 'class' && token.has[byte] === 1;
}

/** Marks a token, and those after it that can be reached without a byte. */
function enter(tokens: readonly Token[], marks: Uint8Array, from: number): void {
  for (let index = from; marks[index] === 0; index += 1) {
    marks[index] = 1;
    const kind = tokens[index]?.kind;
    if (kind !== 'star' && kind !== 'stars') return;
  }
}

function tokensOf(text: string, body: string): Token[] {
  const isPlain = !/[*?[]/.test(body);
  if (isPlain) return [...Buffer.from(body, 'latin1')].map((byte) => ({ kind: 'byte', byte }));
  const tokens: Token[] = [];
  for (let at = 0; at < body.length; ) {
    const character = body[at]!;
    if (character === '*') {
      const end = at + body.slice(at).search(/[^*]|$/);
      tokens.push({ kind: end - at > 1 ? 'stars' : 'star' });
      at = end;
    } else if (character === '[') {
      const { has, end } = classAt(text, body, at);
      tokens.push({ kind: 'class', has });
      at = end;
    } else {
      const isEscape = character === '\\';
      if (isEscape && at + 1 === body.length) throw invalid(text, 'it ends with a backslash');
      const byte = body.charCodeAt(isEscape ? at + 1 : at);
      tokens.push(character === '?' ? { kind: 'any' } : { kind: 'byte', byte });
      at += isEscape ? 2 : 1;
    }
  }
  return tokens;
}

/** Reads the class that begins at `start`. */
function classAt(text: string, body: string, start: number): { has: Uint8Array; end: number } {
  const has = new Uint8Array(BYTES);
  let at = start + 1;
  const isNegated = body[at] === '!' || body[at] === '^';
  if (isNegated) at += 1;
  for (let isFirst = true; isFirst || body[at] !== ']'; isFirst = false) {
    if (at >= body.length) throw invalid(text, "a '[' is not closed by ']'");
    if (body.startsWith('[:', at)) at = addNamed(text, body, at, has);
    else at = addRange(text, body, at, has);
  }
  const result = isNegated ? has.map((one) => 1 - one) : has;
  result[SLASH] = 0;
  return { has: result, end: at + 1 };
}

function addNamed(text: string, body: string, at: number, has: Uint8Array): number {
  const end = body.indexOf(':]', at + 2);
  const test = end === -1 ? undefined : classNamed(body.slice(at + 2, end));
  if (!test) throw invalid(text, "a '[:' does not begin the name of a class, such as [:digit:]");
  for (let byte = 0; byte < BYTES; byte += 1) if (test(byte)) has[byte] = 1;
  return end + 2;
}

function addRange(text: string, body: string, at: number, has: Uint8Array): number {
  const first = byteAt(text, body, at);
  const isRange = body[first.end] === '-' && first.end + 1 < body.length && body[first.end + 1] !== ']';
  const last = isRange ? byteAt(text, body, first.end + 1) : first;
  if (last.byte < first.byte) throw invalid(text, 'a range in brackets goes backwards');
  has.fill(1, first.byte, last.byte + 1);
  return last.end;
}

function byteAt(text: string, body: string, at: number): { byte: number; end: number } {
  const place = body[at] === '\\' ? at + 1 : at;
  if (place >= body.length) throw invalid(text, "a '[' is not closed by ']'");
  return { byte: body.charCodeAt(place), end: place + 1 };
}

function invalid(text: string, reason: string): CastError {
  return new CastError(
    'ERR_RDMC_INVALID_PATTERN',
    `the pattern ${JSON.stringify(text)} is refused: ${reason}`,
  );
}
