import type { Arguments } from '../resp/arguments.js';
import { CommandError, SYNTAX } from '../resp/command-error.js';
import { NO_EXPIRY } from '../store/entry.js';
import { expiryOf } from './expiry.js';

export interface SetOptions {
  expiresAt: number;
  only: 'nx' | 'xx' | undefined;
  keepTtl: boolean;
  get: boolean;
}

const PLAIN: SetOptions = { expiresAt: NO_EXPIRY, only: undefined, keepTtl: false, get: false };

/** The options of SET, behind key and value. */
export function parseSet(args: Arguments, nowMs: number): SetOptions {
  if (args.count === 3) return PLAIN;
  const options = { ...PLAIN };
  let hasExpiry = false;
  for (let i = 3; i < args.count; i += 1) {
    const word = args.word(i);
    const unit = { EX: 1000, PX: 1, EXAT: 1000, PXAT: 1 }[word];
    if (unit !== undefined && i + 1 < args.count && !hasExpiry && !options.keepTtl) {
      i += 1;
      options.expiresAt = expiryOf(args, i, unit, word.endsWith('AT') ? 0 : nowMs, 'set');
      hasExpiry = true;
    } else if (word === 'KEEPTTL' && !hasExpiry) options.keepTtl = true;
    else if (word === 'GET') options.get = true;
    else if (word === 'NX' && options.only !== 'xx') options.only = 'nx';
    else if (word === 'XX' && options.only !== 'nx') options.only = 'xx';
    else throw new CommandError(SYNTAX);
  }
  return options;
}
