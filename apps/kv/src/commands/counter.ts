import type { Arguments } from '../resp/arguments.js';
import { CommandError, NOT_AN_INTEGER } from '../resp/command-error.js';
import { NO_EXPIRY } from '../store/entry.js';
import type { CommandContext } from './command-context.js';
import { stringOf } from './value.js';

const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n];
const INTEGER = /^(0|-?[1-9]\d{0,18})$/;
/** A double is exact up to this number of digits. */
const EXACT_DIGITS = 15;

/** Adds to the 64-bit number of a key; a short number is added without BigInts. */
export function addTo(x: CommandContext, args: Arguments, by: bigint): void {
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const before = x.look(slot, key);
  const sum = sumOf(stringOf(before) ?? '0', by, NOT_AN_INTEGER);
  x.put(slot, key, sum, before?.expiresAt ?? NO_EXPIRY);
  x.writer.raw(Buffer.from(`:${sum}\r\n`));
}

/** The number of an argument. @throws CommandError where it does not have 64 bits */
export function stepOf(args: Arguments, index: number): bigint {
  const text = args.string(index);
  const step = INTEGER.test(text) ? BigInt(text) : MOST + 1n;
  if (step > MOST || step < LEAST) throw new CommandError(NOT_AN_INTEGER);
  return step;
}

/** @throws CommandError for the one number whose opposite does not have 64 bits */
export function opposite(step: bigint): bigint {
  if (step === LEAST) throw new CommandError('ERR decrement would overflow');
  return -step;
}

/** @param notANumber the error where the text is not a number of 64 bits. @throws CommandError */
export function sumOf(text: string, by: bigint, notANumber: string): string {
  if (!INTEGER.test(text)) throw new CommandError(notANumber);
  const isShort = text.length <= EXACT_DIGITS && by < 1_000_000_000n && by > -1_000_000_000n;
  return isShort ? String(Number(text) + Number(by)) : wide(text, by, notANumber);
}

function wide(text: string, by: bigint, notANumber: string): string {
  const value = BigInt(text);
  if (value > MOST || value < LEAST) throw new CommandError(notANumber);
  const sum = value + by;
  if (sum > MOST || sum < LEAST) throw new CommandError('ERR increment or decrement would overflow');
  return String(sum);
}
