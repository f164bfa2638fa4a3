import { FLUSH_STEP_KEYS, SLOTS } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { CommandError, SYNTAX } from '../resp/command-error.js';
import { type Command, define } from './command.js';
import type { CommandContext } from './command-context.js';
import { scan } from './scan.js';
import { Search } from './search.js';

function dbSize(x: CommandContext): void {
  // Beside these, the index has keys that are handed over to this server.
  let size = 0;
  for (const { from, to, member } of x.node.ranges()) {
    if (member !== x.node.member) continue;
    for (let slot = from; slot <= to; slot += 1) size += x.sizeOf(slot);
  }
  x.writer.integer(size);
}

function keys(x: CommandContext, args: Arguments): void {
  const search = new Search(x, args.string(1));
  for (let slot = 0; slot < SLOTS; slot += 1) if (x.node.isOwn(slot)) search.slot(slot);
  search.tell();
}

/**
 * One step: tombstones for as many keys as one append and some milliseconds take. The reply says how many keys are left,
 * and is OK when none is left: the sender of the steps continues until then (see `Router`).
 */
function flush(x: CommandContext, args: Arguments): void {
  const word = args.count > 1 ? args.word(1) : 'SYNC';
  if (args.count > 2 || (word !== 'SYNC' && word !== 'ASYNC')) throw new CommandError(SYNTAX);
  let [room, left] = [FLUSH_STEP_KEYS, 0];
  for (let slot = 0; slot < SLOTS; slot += 1) {
    if (!x.node.isOwn(slot)) continue;
    if (x.store.keyspace.sizeOf(slot) > 0) room -= removeSome(x, slot, room);
    left += x.sizeOf(slot);
  }
  if (left > 0) x.writer.integer(left);
  else x.writer.ok();
}

/** Removes keys of a slot, as long as the append has room; returns how many. */
function removeSome(x: CommandContext, slot: number, most: number): number {
  let removed = 0;
  for (const key of x.store.keyspace.keys(slot)) {
    if (removed >= most || x.isFull) break;
    x.remove(slot, key);
    removed += 1;
  }
  return removed;
}

const everywhere = 'everywhere';

export const keyspaceCommands: readonly Command[] = [
  define('dbsize', 1, 'readonly fast', dbSize, { route: everywhere, merge: 'sum' }),
  define('keys', 2, 'readonly', keys, { route: everywhere, merge: 'concatenation' }),
  define('flushdb', -1, 'write', flush, { route: everywhere, merge: 'ok', inSteps: true }),
  define('flushall', -1, 'write', flush, { route: everywhere, merge: 'ok', inSteps: true }),
  define('scan', -2, 'readonly', scan, { route: 'scan' }),
];
