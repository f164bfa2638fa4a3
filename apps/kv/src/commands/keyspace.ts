import { SLOTS } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { CommandError, NOT_AN_INTEGER, SYNTAX } from '../resp/command-error.js';
import type { Executor } from '../server/executor.js';
import { type Command, define } from './command.js';
import { globMatches } from './glob.js';

const DEFAULT_SCAN_COUNT = 10;
/** A scan of empty slots ends somewhere too. */
const MOST_SLOTS_PER_SCAN = 4096;

function dbSize(x: Executor): void {
  x.writer.integer(x.store.keyspace.size);
}

function keys(x: Executor, args: Arguments): void {
  const pattern = args.string(1);
  const found: string[] = [];
  for (let slot = 0; slot < SLOTS; slot += 1) if (x.node.isOwn(slot)) collect(x, slot, pattern, found);
  x.writer.array(found.length);
  for (const key of found) x.writer.bulk(key);
}

/** The keys of a slot that match and have not expired. */
function collect(x: Executor, slot: number, pattern: string, into: string[]): void {
  for (const [key] of x.store.keyspace.entries(slot)) {
    if (globMatches(pattern, key) && x.look(slot, key)) into.push(key);
  }
}

/**
 * The cursor is the next hash slot to look at, and a slot is always given whole: so what was there from the first call to
 * the last one is found, whatever is written meanwhile and whichever server has the slot by then.
 */
function scan(x: Executor, args: Arguments): void {
  const start = args.integer(1);
  if (start === undefined || start < 0 || start >= SLOTS) throw new CommandError('ERR invalid cursor');
  const { count, pattern, isStrings } = scanOptions(args);
  const found: string[] = [];
  const most = Math.min(SLOTS, start + MOST_SLOTS_PER_SCAN);
  let slot = start;
  while (slot < most && found.length < count && x.node.isOwn(slot)) {
    if (isStrings) collect(x, slot, pattern, found);
    slot += 1;
  }
  x.writer.array(2);
  x.writer.bulk(String(slot === SLOTS ? 0 : slot));
  x.writer.array(found.length);
  for (const key of found) x.writer.bulk(key);
}

function scanOptions(args: Arguments): { count: number; pattern: string; isStrings: boolean } {
  const options = { count: DEFAULT_SCAN_COUNT, pattern: '*', isStrings: true };
  for (let i = 2; i < args.count; i += 2) {
    if (i + 1 >= args.count) throw new CommandError(SYNTAX);
    const word = args.word(i);
    if (word === 'MATCH') options.pattern = args.string(i + 1);
    else if (word === 'TYPE') options.isStrings = args.word(i + 1) === 'STRING';
    else if (word === 'COUNT') {
      const count = args.integer(i + 1);
      if (count === undefined) throw new CommandError(NOT_AN_INTEGER);
      if (count < 1) throw new CommandError(SYNTAX);
      options.count = count;
    } else throw new CommandError(SYNTAX);
  }
  return options;
}

/** A tombstone for every key, in as many appends as that takes: not one step, but acknowledged as a whole. */
function flush(x: Executor, args: Arguments): void {
  const word = args.count > 1 ? args.word(1) : 'SYNC';
  if (args.count > 2 || (word !== 'SYNC' && word !== 'ASYNC')) throw new CommandError(SYNTAX);
  for (let slot = 0; slot < SLOTS; slot += 1) {
    if (!x.node.isOwn(slot)) continue;
    for (const [key] of [...x.store.keyspace.entries(slot)]) {
      x.remove(slot, key);
      if (x.isFull) commitNow(x);
    }
  }
  x.writer.ok();
}

function commitNow(x: Executor): void {
  x.refusal = undefined;
  x.store.commit();
  if (x.refusal) throw new CommandError(`${x.refusal} (a part of the keys was removed)`);
}

const everywhere = 'everywhere';

export const keyspaceCommands: readonly Command[] = [
  define('dbsize', 1, 'readonly fast', dbSize, { route: everywhere, merge: 'sum' }),
  define('keys', 2, 'readonly', keys, { route: everywhere, merge: 'concatenation' }),
  define('flushdb', -1, 'write', flush, { route: everywhere, merge: 'ok' }),
  define('flushall', -1, 'write', flush, { route: everywhere, merge: 'ok' }),
  define('scan', -2, 'readonly', scan, { route: 'scan' }),
];
