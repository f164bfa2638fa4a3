import { PULL_SET_BYTES } from '../constants.js';
import type { BlockSet } from '../delta/block-set.js';
import type { ServerChannel } from './call-server.js';

/** A part of a set of pieces, in a frame. */
interface SetPart {
  /** Number of the first piece. */
  readonly first: number;
  /** Bits in base64. */
  readonly data: string;
  readonly last: boolean;
}

/** A set of pieces, in as many frames as that needs, at least one. */
export function* setFrames(set: BlockSet): Generator<SetPart, void, undefined> {
  const bits = Buffer.from(set.bits);
  let first = 0;
  do {
    const data = bits.subarray(first, first + PULL_SET_BYTES);
    const last = first + PULL_SET_BYTES >= bits.length;
    yield { first: first * 8, data: data.toString('base64'), last };
    first += PULL_SET_BYTES;
  } while (first < bits.length);
}

/** Tells the server which pieces are here. */
export function sendHave(channel: ServerChannel, set: BlockSet): void {
  for (const part of setFrames(set)) channel.send({ type: 'have', ...part });
}
