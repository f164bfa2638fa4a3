import { crc32 } from 'node:zlib';
import type { Row } from './survivor-rules.js';
import { RowFlag, RowWord } from './table-layout.js';

const WORD = 2 ** 32;
const STATE_WORDS = RowWord.CHECK - RowWord.SEQUENCE;

/** Writes the state of a row, with the next sequence number. */
export function writeState(words: Uint32Array, row: Row): void {
  const state = new Uint32Array(STATE_WORDS);
  const put = (word: number, value: number): void => {
    state[word - RowWord.SEQUENCE] = value;
  };
  const putLong = (word: number, value: number): void => {
    put(word, value % WORD);
    put(word + 1, Math.floor(value / WORD));
  };
  // 0 means that there is no state.
  put(RowWord.SEQUENCE, (words[RowWord.SEQUENCE]! + 1) >>> 0 || 1);
  put(RowWord.FLAGS, (row.isWedged ? RowFlag.WEDGED : 0) | (row.isDecided ? RowFlag.DECIDED : 0));
  put(RowWord.SUSPECTED, row.suspected);
  putLong(RowWord.FROZEN, row.received);
  put(RowWord.BALLOT, row.ballot);
  putLong(RowWord.TRIM, row.trim);
  put(RowWord.EXCLUDED, row.excluded);
  words[RowWord.CHECK] = checkOf(state);
  // The worker compares the sequence number, and writes the row again if it changes after a WRITE began.
  words.set(state.subarray(1), RowWord.SEQUENCE + 1);
  words[RowWord.SEQUENCE] = state[0]!;
}

/** The state of a row; undefined: it does not have one, or it is being written. */
export function readState(words: Uint32Array): Row | undefined {
  // A peer may write at any time: everything is read from this copy.
  const state = words.slice(RowWord.SEQUENCE, RowWord.CHECK);
  if (state[0] === 0 || checkOf(state) !== words[RowWord.CHECK]) return undefined;
  const get = (word: number): number => state[word - RowWord.SEQUENCE]!;
  const getLong = (word: number): number => get(word + 1) * WORD + get(word);
  const flags = get(RowWord.FLAGS);
  return {
    isWedged: (flags & RowFlag.WEDGED) !== 0,
    received: getLong(RowWord.FROZEN),
    suspected: get(RowWord.SUSPECTED),
    ballot: get(RowWord.BALLOT),
    trim: getLong(RowWord.TRIM),
    excluded: get(RowWord.EXCLUDED),
    isDecided: (flags & RowFlag.DECIDED) !== 0,
  };
}

function checkOf(state: Uint32Array): number {
  return crc32(new Uint8Array(state.buffer, state.byteOffset, state.byteLength)) >>> 0;
}
