/**
 * SCAN. The cursor is the next hash slot to look at, so that keys that exist from the first call to the last are
 * found, also when other keys are written and slots change servers meanwhile. A slot with few keys is returned whole; one
 * with many in the order of a hash of its keys, which is the same at every server:
 *
 * ```
 * cursor = hash × 16384 + slot        keys of the slot whose hash is at least that, then the slots after it
 * ```
 */
import { SLOTS } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { CommandError, NOT_AN_INTEGER, SYNTAX } from '../resp/command-error.js';
import type { CommandContext } from './command-context.js';
import { Search } from './search.js';

const DEFAULT_COUNT = 10;
/** Bounds one call that scans empty slots. */
const MOST_SLOTS = 4096;
/** A slot with up to this number of keys is returned whole. */
const FEW_KEYS = 128;
const HASHES = 2 ** 32;
const CURSORS = SLOTS * HASHES;

interface ScanOptions {
  count: number;
  pattern: string;
  /** Undefined: all types. */
  type: string | undefined;
}

/** The slot of a cursor; undefined: the cursor is not valid. */
export function slotOfCursor(cursor: number | undefined): number | undefined {
  return cursor !== undefined && cursor >= 0 && cursor < CURSORS ? cursor % SLOTS : undefined;
}

export function scan(x: CommandContext, args: Arguments): void {
  const cursor = args.integer(1);
  const start = slotOfCursor(cursor);
  if (start === undefined) throw new CommandError('ERR invalid cursor');
  const options = optionsOf(args);
  const search = new Search(x, options.pattern, options.type);
  const next = walk(x, cursor!, start, options.count, search);
  x.writer.array(2);
  x.writer.bulk(String(next));
  search.tell();
}

/** Looks at `count` keys at least, if that many exist. */
function walk(x: CommandContext, cursor: number, start: number, count: number, search: Search): number {
  let from = Math.floor(cursor / SLOTS);
  let slot = start;
  let looked = 0;
  for (const most = Math.min(SLOTS, start + MOST_SLOTS); slot < most && x.node.isOwn(slot); slot += 1) {
    if (looked >= count) return slot;
    const size = x.store.keyspace.sizeOf(slot);
    if (from > 0 || size > Math.max(FEW_KEYS, count - looked)) {
      const next = part(x, slot, from, count - looked, search);
      if (next > 0) return next * SLOTS + slot;
      looked = count;
      from = 0;
    } else {
      search.slot(slot);
      looked += size;
    }
  }
  return slot === SLOTS ? 0 : slot;
}

/** Keys of one slot in the order of their hashes, those of equal hash together; where to go on, 0 at the slot's end. */
function part(x: CommandContext, slot: number, from: number, count: number, search: Search): number {
  const { keyspace } = x.store;
  const ordered = keyspace.byHash(slot, from === 0);
  if (from === 0) search.spend(ordered.length);
  let at = lowerBound(ordered, from);
  const last = Math.min(at + count, ordered.length) - 1;
  while (at < ordered.length && (at <= last || ordered[at]!.hash === ordered[last]!.hash)) {
    search.key(slot, ordered[at]!.key);
    at += 1;
  }
  if (at === ordered.length) keyspace.forgetOrder(slot);
  return ordered[at]?.hash ?? 0;
}

function lowerBound(ordered: readonly { hash: number }[], hash: number): number {
  let [low, high] = [0, ordered.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ordered[middle]!.hash < hash) low = middle + 1;
    else high = middle;
  }
  return low;
}

function optionsOf(args: Arguments): ScanOptions {
  const options: ScanOptions = { count: DEFAULT_COUNT, pattern: '*', type: undefined };
  for (let i = 2; i < args.count; i += 2) {
    if (i + 1 >= args.count) throw new CommandError(SYNTAX);
    const word = args.word(i);
    if (word === 'MATCH') options.pattern = args.string(i + 1);
    else if (word === 'TYPE') options.type = args.string(i + 1).toLowerCase();
    else if (word === 'COUNT') {
      const count = args.integer(i + 1);
      if (count === undefined) throw new CommandError(NOT_AN_INTEGER);
      if (count < 1) throw new CommandError(SYNTAX);
      options.count = count;
    } else throw new CommandError(SYNTAX);
  }
  return options;
}
