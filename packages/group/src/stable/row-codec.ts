import { crc32 } from 'node:zlib';
import type { Row } from './survivor-rules.js';
import { RowFlag, type RowLayout } from './table-layout.js';

const WORD = 2 ** 32;

/** Writes the state of a row, with the next sequence number. */
export function writeState(words: Uint32Array, layout: RowLayout, row: Row): void {
  const first = layout.sequence;
  const state = new Uint32Array(layout.check - first);
  const put = (word: number, value: number): void => {
    state[word - first] = value;
  };
  const putCounts = (word: number, counts: readonly number[]): void => {
    for (const [sender, count] of counts.entries()) {
      put(word + 2 * sender, count % WORD);
      put(word + 2 * sender + 1, Math.floor(count / WORD));
    }
  };
  // 0 means that there is no state.
  put(first, (words[first]! + 1) >>> 0 || 1);
  put(layout.flags, (row.isWedged ? RowFlag.WEDGED : 0) | (row.isDecided ? RowFlag.DECIDED : 0));
  put(layout.suspected, row.suspected);
  putCounts(layout.frozen, row.received);
  put(layout.ballot, row.ballot);
  putCounts(layout.trim, row.trim);
  put(layout.excluded, row.excluded);
  words[layout.check] = checkOf(state);
  // The worker compares the sequence number, and writes the row again if it changes after a WRITE began.
  words.set(state.subarray(1), first + 1);
  words[first] = state[0]!;
}

/** The state of a row; undefined: it does not have one, or it is being written. */
export function readState(words: Uint32Array, layout: RowLayout): Row | undefined {
  // A peer may write at any time: everything is read from this copy.
  const first = layout.sequence;
  const state = words.slice(first, layout.check);
  if (state[0] === 0 || checkOf(state) !== words[layout.check]) return undefined;
  const get = (word: number): number => state[word - first]!;
  const getCounts = (word: number): number[] =>
    Array.from({ length: layout.senders }, (_, sender) => {
      const low = word + 2 * sender;
      return get(low + 1) * WORD + get(low);
    });
  const flags = get(layout.flags);
  return {
    isWedged: (flags & RowFlag.WEDGED) !== 0,
    received: getCounts(layout.frozen),
    suspected: get(layout.suspected),
    ballot: get(layout.ballot),
    trim: getCounts(layout.trim),
    excluded: get(layout.excluded),
    isDecided: (flags & RowFlag.DECIDED) !== 0,
  };
}

function checkOf(state: Uint32Array): number {
  return crc32(new Uint8Array(state.buffer, state.byteOffset, state.byteLength)) >>> 0;
}
