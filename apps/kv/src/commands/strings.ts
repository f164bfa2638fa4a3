import { MAX_BULK_BYTES } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { CommandError } from '../resp/command-error.js';
import { NO_EXPIRY } from '../store/entry.js';
import { objectBytes } from '../store/record.js';
import { type Command, define, keyCommand } from './command.js';
import type { CommandContext } from './command-context.js';
import { addTo, opposite, stepOf } from './counter.js';
import { expiryOf } from './expiry.js';
import { parseSet } from './set-options.js';
import { stringOf } from './value.js';

function get(x: CommandContext, args: Arguments): void {
  x.writer.bulkOrMissing(stringOf(x.find(args, 1)));
}

function set(x: CommandContext, args: Arguments): void {
  const options = parseSet(args, x.nowMs);
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const needsBefore = options.get || options.keepTtl || options.only !== undefined;
  const before = needsBefore ? x.look(slot, key) : undefined;
  const value = options.get ? stringOf(before) : undefined;
  const exists = before !== undefined;
  const refused = (options.only === 'nx' && exists) || (options.only === 'xx' && !exists);
  if (!refused) {
    const kept = options.keepTtl ? (before?.expiresAt ?? NO_EXPIRY) : options.expiresAt;
    x.put(slot, key, args.string(2), kept);
  }
  if (options.get) x.writer.bulkOrMissing(value);
  else if (refused) x.writer.missing();
  else x.writer.ok();
}

function setNx(x: CommandContext, args: Arguments): void {
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const exists = x.look(slot, key) !== undefined;
  if (!exists) x.put(slot, key, args.string(2), NO_EXPIRY);
  x.writer.integer(exists ? 0 : 1);
}

function setWithExpiry(unitMs: number, name: string) {
  return (x: CommandContext, args: Arguments): void => {
    x.put(x.slot(args, 1), args.string(1), args.string(3), expiryOf(args, 2, unitMs, x.nowMs, name));
    x.writer.ok();
  };
}

function getSet(x: CommandContext, args: Arguments): void {
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const before = stringOf(x.look(slot, key));
  x.put(slot, key, args.string(2), NO_EXPIRY);
  x.writer.bulkOrMissing(before);
}

function getDel(x: CommandContext, args: Arguments): void {
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const before = stringOf(x.look(slot, key));
  if (before !== undefined) x.remove(slot, key);
  x.writer.bulkOrMissing(before);
}

function append(x: CommandContext, args: Arguments): void {
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const before = x.look(slot, key);
  const value = stringOf(before) ?? '';
  const length = value.length + args.length(2);
  if (length > MAX_BULK_BYTES) {
    throw new CommandError(
      `ERR ERR_RDMC_ENTRY_TOO_LARGE a value of ${length} bytes is over the limit of ${MAX_BULK_BYTES}; nothing was done`,
    );
  }
  x.put(slot, key, value + args.string(2), before?.expiresAt ?? NO_EXPIRY);
  x.writer.integer(length);
}

function strLen(x: CommandContext, args: Arguments): void {
  x.writer.integer(stringOf(x.find(args, 1))?.length ?? 0);
}

function mget(x: CommandContext, args: Arguments): void {
  x.writer.array(args.count - 1);
  for (let i = 1; i < args.count; i += 1) {
    const value = x.find(args, i)?.value;
    x.writer.bulkOrMissing(typeof value === 'string' ? value : undefined);
  }
}

/** All keys of this server in one append: after a failure all of them are stored, or none. */
function mset(x: CommandContext, args: Arguments): void {
  if (args.count % 2 === 0) throw new CommandError("ERR wrong number of arguments for 'mset' command");
  let bytes = 0;
  for (let i = 1; i < args.count; i += 2) bytes += objectBytes(args.length(i), args.length(i + 1), NO_EXPIRY);
  x.store.together(bytes);
  for (let i = 1; i < args.count; i += 2) {
    x.put(x.slot(args, i), args.string(i), args.string(i + 1), NO_EXPIRY);
  }
  x.writer.ok();
}

function step(sign: 1 | -1) {
  return (x: CommandContext, args: Arguments): void => addTo(x, args, BigInt(sign));
}

function incrBy(x: CommandContext, args: Arguments): void {
  addTo(x, args, stepOf(args, 2));
}

function decrBy(x: CommandContext, args: Arguments): void {
  addTo(x, args, opposite(stepOf(args, 2)));
}

function getRange(x: CommandContext, args: Arguments): void {
  const [start, end] = [Number(stepOf(args, 2)), Number(stepOf(args, 3))];
  const value = stringOf(x.find(args, 1)) ?? '';
  const isReversed = start < 0 && end < 0 && start > end;
  // As Redis, also for an end before the first byte: it is the first one then.
  const from = Math.max(0, start < 0 ? value.length + start : start);
  const to = Math.max(0, end < 0 ? value.length + end : end);
  x.writer.bulk(isReversed || from > to ? '' : value.slice(from, to + 1));
}

export const stringCommands: readonly Command[] = [
  keyCommand('get', 2, 'readonly fast', get),
  keyCommand('set', -3, 'write denyoom', set),
  keyCommand('setnx', 3, 'write denyoom fast', setNx),
  keyCommand('setex', 4, 'write denyoom', setWithExpiry(1000, 'setex')),
  keyCommand('psetex', 4, 'write denyoom', setWithExpiry(1, 'psetex')),
  keyCommand('getset', 3, 'write denyoom fast', getSet),
  keyCommand('getdel', 2, 'write fast', getDel),
  keyCommand('getrange', 4, 'readonly', getRange),
  keyCommand('append', 3, 'write denyoom fast', append),
  keyCommand('strlen', 2, 'readonly fast', strLen),
  keyCommand('incr', 2, 'write denyoom fast', step(1)),
  keyCommand('decr', 2, 'write denyoom fast', step(-1)),
  keyCommand('incrby', 3, 'write denyoom fast', incrBy),
  keyCommand('decrby', 3, 'write denyoom fast', decrBy),
  define('mget', -2, 'readonly fast', mget, { route: 'keys', step: 1, merge: 'positions' }),
  define('mset', -3, 'write denyoom', mset, { route: 'keys', step: 2, merge: 'ok' }),
];
