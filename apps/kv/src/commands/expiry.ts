import type { Arguments } from '../resp/arguments.js';
import { CommandError, NOT_AN_INTEGER } from '../resp/command-error.js';

/** The largest moment that a double holds exactly; Redis's limit is higher, and as far away for people. */
const MOST_MS = Number.MAX_SAFE_INTEGER;

/** The moment that an argument names, in a unit from `baseMs` on. One in the past is possible: EXPIRE and its kin remove the key then. */
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

/** The same for SET and its kin: it must lie ahead of `baseMs`. */
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

/** No number, or one of 64 bits that no moment is as far away as. */
function unusable(args: Arguments, index: number, name: string): CommandError {
  const isWide = /^-?[1-9]\d{15,18}$/.test(args.string(index));
  return new CommandError(isWide ? `ERR invalid expire time in '${name}' command` : NOT_AN_INTEGER);
}
