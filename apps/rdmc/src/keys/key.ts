import { randomBytes } from 'node:crypto';
import { CliError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';

/** Bytes of a key that this command makes; least and most bytes of a key that it accepts. */
export const KEY_BYTES = 32;
export const LEAST_KEY_BYTES = 16;
export const MOST_KEY_BYTES = 1024;

const HEX = /^(?:[0-9a-f]{2})+$/i;
const BASE64 = /^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$/;

export function keyError(message: string, advice: string, cause?: unknown): CliError {
  return new CliError('ERR_RDMC_INVALID_KEY', message, {
    exitCode: ExitCode.USAGE,
    advice,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Of keys for fetching, which `fetchKey` of @rdmc/cast makes: they are text, not bytes. */
export const FETCH_KEY_PREFIX = 'rdmc-fetch-';

/** What a command does with a key: with one for fetching, it can only fetch. */
export type KeyUse = 'fetch' | 'other';

/** @throws CliError ERR_RDMC_WRONG_ROLE */
function fetchKeyFor(use: KeyUse, text: string, origin: string): Uint8Array {
  if (use === 'fetch') return Uint8Array.from(Buffer.from(text));
  throw new CliError('ERR_RDMC_WRONG_ROLE', `the key ${origin} is for fetching only`, {
    exitCode: ExitCode.USAGE,
    advice: 'give the key that it was made from, or use it with rdmc fetch',
  });
}

/**
 * Parses a key: hexadecimal, or base64 (either alphabet). Text that is both is hexadecimal. The text itself is never
 * part of an error.
 * @param origin where the key came from, for errors
 * @throws CliError ERR_RDMC_INVALID_KEY, ERR_RDMC_WRONG_ROLE
 */
export function parseKey(text: string, origin: string, use: KeyUse = 'other'): Uint8Array {
  const trimmed = text.trim();
  if (trimmed.startsWith(FETCH_KEY_PREFIX)) return fetchKeyFor(use, trimmed, origin);
  const advice = 'make one with: rdmc key FILE';
  if (trimmed === '') throw keyError(`the key ${origin} is empty`, advice);
  if (!HEX.test(trimmed) && !BASE64.test(trimmed)) {
    throw keyError(`the key ${origin} is neither hexadecimal nor base64`, advice);
  }
  // A copy: a slice of Node's buffer pool would share its memory with other data.
  const bytes = Uint8Array.from(Buffer.from(trimmed, HEX.test(trimmed) ? 'hex' : 'base64'));
  if (bytes.length < LEAST_KEY_BYTES || bytes.length > MOST_KEY_BYTES) {
    const range = `${LEAST_KEY_BYTES} to ${MOST_KEY_BYTES}`;
    throw keyError(`the key ${origin} has ${bytes.length} bytes; it must have ${range}`, advice);
  }
  return bytes;
}

/** A new key as text. */
export function newKey(): string {
  return randomBytes(KEY_BYTES).toString('hex');
}
