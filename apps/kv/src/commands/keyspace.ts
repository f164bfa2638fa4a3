import { SLOTS } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { CommandError, SYNTAX } from '../resp/command-error.js';
import type { Executor } from '../server/executor.js';
import { type Command, define } from './command.js';
import { scan } from './scan.js';
import { Search } from './search.js';

function dbSize(x: Executor): void {
  x.writer.integer(x.store.keyspace.size);
}

function keys(x: Executor, args: Arguments): void {
  const search = new Search(x, args.string(1));
  for (let slot = 0; slot < SLOTS; slot += 1) if (x.node.isOwn(slot)) search.slot(slot);
  search.tell();
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
  const refusal = x.commitNow();
  if (refusal) throw new CommandError(`${refusal} (a part of the keys was removed)`);
}

const everywhere = 'everywhere';

export const keyspaceCommands: readonly Command[] = [
  define('dbsize', 1, 'readonly fast', dbSize, { route: everywhere, merge: 'sum' }),
  define('keys', 2, 'readonly', keys, { route: everywhere, merge: 'concatenation' }),
  define('flushdb', -1, 'write', flush, { route: everywhere, merge: 'ok' }),
  define('flushall', -1, 'write', flush, { route: everywhere, merge: 'ok' }),
  define('scan', -2, 'readonly', scan, { route: 'scan' }),
];
