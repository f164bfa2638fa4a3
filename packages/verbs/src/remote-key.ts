import type { RemoteKey } from './contract.js';

/** A key that a peer sent as a number of 32 bits. */
export function remoteKey(number: number): RemoteKey {
  return number as RemoteKey;
}
