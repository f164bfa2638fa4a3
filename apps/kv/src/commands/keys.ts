import type { Arguments } from '../resp/arguments.js';
import { CommandError, SYNTAX } from '../resp/command-error.js';
import { NO_EXPIRY } from '../store/entry.js';
import { type Command, define, keyCommand } from './command.js';
import type { CommandContext } from './command-context.js';
import { expiryOf, momentOf } from './expiry.js';
import { stringOf, typeOf } from './value.js';

function del(x: CommandContext, args: Arguments): void {
  let removed = 0;
  for (let i = 1; i < args.count; i += 1) {
    const slot = x.slot(args, i);
    const key = args.string(i);
    if (x.look(slot, key) !== undefined) {
      x.remove(slot, key);
      removed += 1;
    }
  }
  x.writer.integer(removed);
}

function exists(x: CommandContext, args: Arguments): void {
  let found = 0;
  for (let i = 1; i < args.count; i += 1) if (x.find(args, i)) found += 1;
  x.writer.integer(found);
}

function type(x: CommandContext, args: Arguments): void {
  x.writer.simple(typeOf(x.find(args, 1)));
}

function expire(name: string, unitMs: number, absolute: boolean) {
  return (x: CommandContext, args: Arguments): void => {
    const only = conditionOf(args);
    const at = momentOf(args, 2, unitMs, absolute ? 0 : x.nowMs, name);
    const slot = x.slot(args, 1);
    const key = args.string(1);
    const entry = x.look(slot, key);
    if (!entry || !only(entry.expiresAt, at)) {
      x.writer.integer(0);
      return;
    }
    if (at <= x.nowMs) x.remove(slot, key);
    else x.retime(slot, key, entry, at);
    x.writer.integer(1);
  };
}

/** NX, XX, GT, LT: which expiries the new one may replace. A key without expiry counts as one with an infinite expiry. */
function conditionOf(args: Arguments): (before: number, at: number) => boolean {
  const words = new Set<string>();
  for (let i = 3; i < args.count; i += 1) {
    const word = args.word(i);
    if (!['NX', 'XX', 'GT', 'LT'].includes(word))
      throw new CommandError(`ERR Unsupported option ${args.string(i)}`);
    words.add(word);
  }
  if (words.has('NX') && words.size > 1)
    throw new CommandError('ERR NX and XX, GT or LT options at the same time are not compatible');
  if (words.has('GT') && words.has('LT'))
    throw new CommandError('ERR GT and LT options at the same time are not compatible');
  return (before, at) => {
    const has = before !== NO_EXPIRY;
    if (words.has('NX') && has) return false;
    if (words.has('XX') && !has) return false;
    if (words.has('GT') && !(has && at > before)) return false;
    return !(words.has('LT') && has && at >= before);
  };
}

/** Time left, or the moment itself; −1: the key does not expire, −2: the key does not exist. */
function timeLeft(unitMs: number, absolute: boolean) {
  return (x: CommandContext, args: Arguments): void => {
    const entry = x.find(args, 1);
    if (!entry) x.writer.integer(-2);
    else if (entry.expiresAt === NO_EXPIRY) x.writer.integer(-1);
    else if (absolute) x.writer.integer(Math.round(entry.expiresAt / unitMs));
    else x.writer.integer(Math.round((entry.expiresAt - x.nowMs) / unitMs));
  };
}

function persist(x: CommandContext, args: Arguments): void {
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const entry = x.look(slot, key);
  const changes = entry !== undefined && entry.expiresAt !== NO_EXPIRY;
  if (changes) x.retime(slot, key, entry, NO_EXPIRY);
  x.writer.integer(changes ? 1 : 0);
}

function noSuchOption(): never {
  throw new CommandError(SYNTAX);
}

/**
 * As Redis: the options are checked first, then the key, then the time, which must be positive; the key is removed where EXAT or
 * PXAT name a moment in the past. A new expiry is a change of the key also where it is
 * the moment that the key had: otherwise EXEC would depend on whether two commands ran in the same millisecond.
 */
function getEx(x: CommandContext, args: Arguments): void {
  const word = args.count > 2 ? args.word(2) : undefined;
  const unit = { EX: 1000, PX: 1, EXAT: 1000, PXAT: 1 }[word ?? ''];
  const isPersist = word === 'PERSIST' && args.count === 3;
  if (word !== undefined && !isPersist && (unit === undefined || args.count !== 4)) noSuchOption();
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const entry = x.look(slot, key);
  const value = stringOf(entry);
  if (entry && word !== undefined) {
    const at = isPersist ? NO_EXPIRY : expiryOf(args, 3, unit!, word.endsWith('AT') ? 0 : x.nowMs, 'getex');
    if (!isPersist && at <= x.nowMs) x.remove(slot, key);
    else if (!isPersist || entry.expiresAt !== NO_EXPIRY) x.retime(slot, key, entry, at);
  }
  x.writer.bulkOrMissing(value);
}

const multi = { route: 'keys', step: 1, merge: 'sum' } as const;

export const keyCommands: readonly Command[] = [
  define('del', -2, 'write', del, multi),
  define('unlink', -2, 'write fast', del, multi),
  define('exists', -2, 'readonly fast', exists, multi),
  define('touch', -2, 'readonly fast', exists, multi),
  keyCommand('type', 2, 'readonly fast', type),
  keyCommand('expire', -3, 'write fast', expire('expire', 1000, false)),
  keyCommand('pexpire', -3, 'write fast', expire('pexpire', 1, false)),
  keyCommand('expireat', -3, 'write fast', expire('expireat', 1000, true)),
  keyCommand('pexpireat', -3, 'write fast', expire('pexpireat', 1, true)),
  keyCommand('ttl', 2, 'readonly fast', timeLeft(1000, false)),
  keyCommand('pttl', 2, 'readonly fast', timeLeft(1, false)),
  keyCommand('expiretime', 2, 'readonly fast', timeLeft(1000, true)),
  keyCommand('pexpiretime', 2, 'readonly fast', timeLeft(1, true)),
  keyCommand('persist', 2, 'write fast', persist),
  keyCommand('getex', -2, 'write fast', getEx),
];
