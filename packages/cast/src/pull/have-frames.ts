import { PULL_SET_BYTES } from '../constants.js';
import type { BlockSet } from '../delta/block-set.js';
import type { ServerChannel } from './call-server.js';

/** Tells the server which pieces are here, in as many frames as that needs, at least one. */
export function sendHave(channel: ServerChannel, set: BlockSet): void {
  const bits = Buffer.from(set.bits);
  let first = 0;
  do {
    const data = bits.subarray(first, first + PULL_SET_BYTES);
    const last = first + PULL_SET_BYTES >= bits.length;
    channel.send({ type: 'have', first: first * 8, data: data.toString('base64'), last });
    first += PULL_SET_BYTES;
  } while (first < bits.length);
}
