import { hkdfSync } from 'node:crypto';
import { MIN_KEY_BYTES, SECRET_BYTES } from './constants.js';
import { invalidOption, MeshError } from './errors.js';

/**
 * The cluster key never goes anywhere itself: what is used is derived from it by HKDF-SHA-256
 * (RFC 5869), one purpose per `info` text, so that no derived secret tells another.
 */
export class ClusterKey {
  readonly #key: Buffer;
  /** The pre-shared key of the TLS connections. */
  readonly psk: Buffer;

  constructor(key: unknown) {
    this.#key = keyBytes(key);
    this.psk = derive(this.#key, 'rdmc mesh 1 tls psk');
  }

  secret(label: string): Buffer {
    return derive(this.#key, `rdmc mesh 1 secret ${label}`);
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
