import { type Key, userKey } from '@rdmc/common';
import { VerbsError } from './errors.js';

// Every thread loads this module, and few need a key: `node:crypto` and `node:net` take two milliseconds to load.

/** The user's key has several uses: each uses a key derived from it. */
const PURPOSE = 'rdmc soft device 1';

function isLoopback(host: string): boolean {
  const { isIPv4 } = process.getBuiltinModule('node:net');
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/**
 * The key that connections of a soft device prove: the given key, else that of the user; undefined if `insecure`.
 * @throws VerbsError ERR_RDMC_KEY_REQUIRED, ERR_RDMC_USER_KEY
 */
export function softDeviceKey(options: {
  readonly key?: Key | undefined;
  readonly insecure?: boolean | undefined;
  readonly transport: string;
  readonly host: string;
}): Uint8Array | undefined {
  const { key, insecure, transport, host } = options;
  if (key !== undefined) return Buffer.from(key);
  if (insecure) return undefined;
  // Peers on other hosts do not have this user's key.
  if (transport !== 'shm' && !isLoopback(host)) {
    throw new VerbsError(
      'ERR_RDMC_KEY_REQUIRED',
      `openDevice: ${host} is not on loopback; give all peers the same key (openssl rand -hex 32), ` +
        'or, on a network that you trust, set insecure: true',
    );
  }
  const { createHmac } = process.getBuiltinModule('node:crypto');
  return createHmac('sha256', keyOfUser()).update(PURPOSE).digest();
}

function keyOfUser(): Buffer {
  try {
    return userKey();
  } catch (error) {
    throw new VerbsError('ERR_RDMC_USER_KEY', `openDevice: ${(error as Error).message}`, { cause: error });
  }
}
