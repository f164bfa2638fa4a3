import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { protocolError } from '../errors.js';
import { MAX_ENTRY_STATE } from './entry-states.js';

/** States of the entries of one piece: a byte each, compressed, as base64. */

export function packStates(states: Uint8Array): string {
  return deflateRawSync(states, { level: constants.Z_BEST_SPEED }).toString('base64');
}

/** @throws CastError ERR_RDMC_CAST_PROTOCOL where they are not the states of `count` entries */
export function unpackStates(text: string, count: number): Uint8Array {
  let states: Uint8Array;
  try {
    states = inflateRawSync(Buffer.from(text, 'base64'), { maxOutputLength: Math.max(count, 1) });
  } catch (cause) {
    throw protocolError('the states of a piece of the manifest cannot be decompressed', cause);
  }
  if (states.length !== count || states.some((state) => state > MAX_ENTRY_STATE))
    throw protocolError(`the states of a piece of the manifest are not those of its ${count} entries`);
  return states;
}
