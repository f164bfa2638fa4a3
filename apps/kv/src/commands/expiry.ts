import type { Arguments } from '../resp/arguments.js';
import { CommandError, NOT_AN_INTEGER } from '../resp/command-error.js';

/** The largest moment that a double holds exactly. Redis's limit is higher; both are far in the future. */
const MOST_MS = Number.MAX_SAFE_INTEGER;

/** The moment of an argument, in a unit, from `baseMs` on. It may be in the past: EXPIRE and its variants then remove the key. */
export function momentOf(
  args: Arguments,
  index: number,
  unitMs: number,
  baseMs: number,
  name: string,
): number {
  const value = args.integer(index);
  if (value === undefined) throw unusable(args, index, name);
  const at = baseMs + value * unitMs;
  if (Math.abs(at) > MOST_MS) throw new CommandError(`ERR invalid expire time in '${name}' command`);
  return at;
}

/** The same for SET and its variants: the moment must be after `baseMs`. */
export function expiryOf(
  args: Arguments,
  index: number,
  unitMs: number,
  baseMs: number,
  name: string,
): number {
  const at = momentOf(args, index, unitMs, baseMs, name);
  if (at <= baseMs) throw new CommandError(`ERR invalid expire time in '${name}' command`);
  return at;
}

/** The error of an argument that is not a number, or of a 64-bit number that is too large for a moment. */
function unusable(args: Arguments, index: number, name: string): CommandError {
  const isWide = /^-?[1-9]\d{15,18}$/.test(args.string(index));
  return new CommandError(isWide ? `ERR invalid expire time in '${name}' command` : NOT_AN_INTEGER);
}
