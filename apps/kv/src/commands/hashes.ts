import type { Arguments } from '../resp/arguments.js';
import { CommandError } from '../resp/command-error.js';
import { NO_EXPIRY } from '../store/entry.js';
import type { Hash } from '../store/hash.js';
import { fieldBytes, fieldRemovalBytes, headBytes } from '../store/record.js';
import { type Command, keyCommand } from './command.js';
import type { CommandContext } from './command-context.js';
import { stepOf, sumOf } from './counter.js';
import { hashOf } from './value.js';

const NOT_A_NUMBER = 'ERR hash value is not an integer';

/** The hash of a command's key. */
function find(x: CommandContext, args: Arguments): Hash | undefined {
  return hashOf(x.find(args, 1));
}

/** The value of a field; the reply waits until the log has acknowledged it, or its removal. */
function fieldOf(x: CommandContext, hash: Hash | undefined, field: string): string | undefined {
  const entry = hash?.get(field);
  if (entry) x.waitFor(entry.sequence);
  return entry?.value;
}

/** The fields and values from an argument on. */
function* pairsFrom(args: Arguments, first: number): Generator<readonly [string, string], void> {
  for (let i = first; i < args.count; i += 2) yield [args.string(i), args.string(i + 1)];
}

/** Writes fields in one append, with the head of the hash where the key does not exist. Returns how many are new. */
function write(x: CommandContext, args: Arguments, pairs: readonly (readonly [string, string])[]): number {
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const found = hashOf(x.look(slot, key));
  let bytes = found ? 0 : headBytes(key.length, NO_EXPIRY);
  for (const [field, value] of pairs) bytes += fieldBytes(key.length, field.length, value.length);
  x.store.together(bytes);
  const hash = found ?? x.store.putHash(slot, key, NO_EXPIRY);
  const { size } = hash;
  for (const [field, value] of pairs) x.waitFor(x.store.putField(hash, key, field, value).sequence);
  return hash.size - size;
}

function hset(x: CommandContext, args: Arguments): void {
  if (args.count % 2 !== 0) throw new CommandError("ERR wrong number of arguments for 'hset' command");
  x.writer.integer(write(x, args, [...pairsFrom(args, 2)]));
}

function hsetNx(x: CommandContext, args: Arguments): void {
  const isThere = fieldOf(x, find(x, args), args.string(2)) !== undefined;
  if (!isThere) write(x, args, [[args.string(2), args.string(3)]]);
  x.writer.integer(isThere ? 0 : 1);
}

function hincrBy(x: CommandContext, args: Arguments): void {
  const step = stepOf(args, 3);
  const field = args.string(2);
  const sum = sumOf(fieldOf(x, find(x, args), field) ?? '0', step, NOT_A_NUMBER);
  write(x, args, [[field, sum]]);
  x.writer.raw(Buffer.from(`:${sum}\r\n`));
}

/** Removes fields in one append; the last field takes the key with it. */
function hdel(x: CommandContext, args: Arguments): void {
  const slot = x.slot(args, 1);
  const key = args.string(1);
  const hash = hashOf(x.look(slot, key));
  const fields = new Set<string>();
  for (let i = 2; i < args.count; i += 1) {
    const field = args.string(i);
    if (fieldOf(x, hash, field) !== undefined) fields.add(field);
  }
  if (hash && fields.size === hash.size) x.remove(slot, key);
  else if (hash) {
    let bytes = 0;
    for (const field of fields) bytes += fieldRemovalBytes(key.length, field.length);
    x.store.together(bytes);
    for (const field of fields) x.waitFor(x.store.removeField(hash, key, field).sequence);
  }
  x.writer.integer(fields.size);
}

function hget(x: CommandContext, args: Arguments): void {
  x.writer.bulkOrMissing(fieldOf(x, find(x, args), args.string(2)));
}

function hmget(x: CommandContext, args: Arguments): void {
  const hash = find(x, args);
  x.writer.array(args.count - 2);
  for (let i = 2; i < args.count; i += 1) x.writer.bulkOrMissing(fieldOf(x, hash, args.string(i)));
}

function hexists(x: CommandContext, args: Arguments): void {
  x.writer.integer(fieldOf(x, find(x, args), args.string(2)) === undefined ? 0 : 1);
}

/** A reply about all fields waits for all of them. */
function whole(x: CommandContext, args: Arguments): Hash | undefined {
  const hash = find(x, args);
  if (!hash) return undefined;
  x.waitFor(hash.sequence);
  x.effort += hash.size;
  return hash;
}

function hlen(x: CommandContext, args: Arguments): void {
  const hash = find(x, args);
  if (hash) x.waitFor(hash.sequence);
  x.writer.integer(hash?.size ?? 0);
}

function hgetAll(x: CommandContext, args: Arguments): void {
  const hash = whole(x, args);
  x.writer.map(hash?.size ?? 0);
  for (const [field, { value }] of hash?.entries() ?? []) {
    x.writer.bulk(field);
    x.writer.bulk(value);
  }
}

function hkeys(x: CommandContext, args: Arguments): void {
  const hash = whole(x, args);
  x.writer.array(hash?.size ?? 0);
  for (const [field] of hash?.entries() ?? []) x.writer.bulk(field);
}

function hvals(x: CommandContext, args: Arguments): void {
  const hash = whole(x, args);
  x.writer.array(hash?.size ?? 0);
  for (const [, { value }] of hash?.entries() ?? []) x.writer.bulk(value);
}

const long = { isBrief: false } as const;

export const hashCommands: readonly Command[] = [
  keyCommand('hset', -4, 'write denyoom fast', hset, long),
  keyCommand('hsetnx', 4, 'write denyoom fast', hsetNx),
  keyCommand('hget', 3, 'readonly fast', hget),
  keyCommand('hmget', -3, 'readonly fast', hmget, long),
  keyCommand('hgetall', 2, 'readonly', hgetAll, long),
  keyCommand('hdel', -3, 'write fast', hdel, long),
  keyCommand('hlen', 2, 'readonly fast', hlen),
  keyCommand('hexists', 3, 'readonly fast', hexists),
  keyCommand('hkeys', 2, 'readonly', hkeys, long),
  keyCommand('hvals', 2, 'readonly', hvals, long),
  keyCommand('hincrby', 4, 'write denyoom fast', hincrBy),
];
