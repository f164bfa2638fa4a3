import { hkdfSync } from 'node:crypto';
import { messageOf, userKey, userKeyDirectory } from '@rdmc/common';
import { MIN_KEY_BYTES, SECRET_BYTES } from './constants.js';
import { invalidOption, MeshError } from './errors.js';
import { booleanOption } from './option-checks.js';

/** The advice in the error of a wrong key. */
export const SAME_KEY_ADVICE = 'give both ends the same key (openssl rand -hex 32)';

/** A process that started after the file of the user's key was removed has another one. */
const VANISHED_KEY_ADVICE =
  'where both ends are of one user, the system may have removed that key since one of them started: ' +
  'restart the older one, or give both a key';

/**
 * The cluster key itself is not sent. The secrets in use are derived from it by HKDF-SHA-256
 * (RFC 5869), one purpose per `info` text, so that a derived secret does not reveal another.
 */
export class ClusterKey {
  readonly #key: Buffer;
  /** The pre-shared key of the TLS connections. */
  readonly psk: Buffer;

  /** @param name describes the key in messages about keys that differ */
  constructor(
    key: unknown,
    readonly name = 'the key that was given',
  ) {
    this.#key = keyBytes(key);
    this.psk = derive(this.#key, 'rdmc mesh 1 tls psk');
  }

  /** The key of the user that runs this process. @throws MeshError ERR_RDMC_MESH_USER_KEY */
  static ofUser(): ClusterKey {
    const user = `user ${process.geteuid?.() ?? '?'}`;
    const name = `the key of ${user} in ${userKeyDirectory()}, as no key was given`;
    return new ClusterKey(usersKey(), `${name} (${VANISHED_KEY_ADVICE})`);
  }

  secret(label: string): Buffer {
    return derive(this.#key, `rdmc mesh 1 secret ${label}`);
  }
}

/**
 * The key to use: the given one, else the user's; undefined where no key is wanted.
 * @throws MeshError ERR_RDMC_MESH_INVALID_OPTION, ERR_RDMC_MESH_WEAK_KEY, ERR_RDMC_MESH_USER_KEY
 */
export function chooseKey(given: unknown, withoutKey: boolean): ClusterKey | undefined {
  if (given !== undefined) return new ClusterKey(given);
  return withoutKey ? undefined : ClusterKey.ofUser();
}

/** @throws MeshError ERR_RDMC_MESH_INVALID_OPTION where `insecure` contradicts `key` */
export function validateInsecure(where: string, insecure: unknown, key: unknown): boolean {
  const isInsecure = booleanOption(where, 'insecure', insecure ?? false);
  if (isInsecure && key !== undefined) {
    throw invalidOption(`${where}: insecure: a key is given too; omit one of them`);
  }
  return isInsecure;
}

function usersKey(): Buffer {
  try {
    return userKey();
  } catch (cause) {
    throw new MeshError(
      'ERR_RDMC_MESH_USER_KEY',
      `${messageOf(cause)}; or give a key (openssl rand -hex 32)`,
      { cause },
    );
  }
}

function derive(key: Buffer, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', info, SECRET_BYTES));
}

function keyBytes(key: unknown): Buffer {
  if (typeof key !== 'string' && !(key instanceof Uint8Array)) {
    throw invalidOption('key: needed text or a Uint8Array');
  }
  const bytes = Buffer.from(key as Uint8Array);
  if (bytes.length < MIN_KEY_BYTES) {
    throw new MeshError(
      'ERR_RDMC_MESH_WEAK_KEY',
      `key: found ${bytes.length} bytes, needed at least ${MIN_KEY_BYTES}; make one with: openssl rand -hex 32`,
    );
  }
  return bytes;
}
