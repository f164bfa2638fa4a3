/**
 * The keys of a pull, by role. Both are derived from the cluster key with HKDF-SHA256, so that a key for fetching reveals
 * nothing about the cluster key, and is of no use to senders of casts, to receivers, and to members of a mesh or a store.
 *
 *   secret of fetchers   32 bytes, info "rdmc fetch key 1": the pre-shared key of the connections of fetchers
 *   key of the origin    32 bytes, info "rdmc origin key 1": the seed of an Ed25519 key
 *
 * A key for fetching, as text:
 *
 *   rdmc-fetch-1: | secret of fetchers | public key of the origin
 *                 | 64 hex digits      | 64 hex digits
 *
 * All fetchers have the same secret, so it does not prove the identity of the server. The server signs each connection:
 *
 *   byte  0                     20                               52
 *         +---------------------+--------------------------------+
 *         | rdmc pull origin 1\0\0 | exported from the TLS connection |
 *         +---------------------+--------------------------------+
 *   The second part (RFC 8446, section 7.5) differs for each connection, so a signature cannot be passed on.
 */
import {
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type Key, userKey } from '@rdmc/common';
import { CastError, invalidOption } from '../errors.js';

const PREFIX = 'rdmc-fetch-1:';
const TEXT = /^rdmc-fetch-1:([0-9a-f]{64})([0-9a-f]{64})$/i;
const KEY_BYTES = 32;
const LEAST_KEY_BYTES = 16;
/** DER of an Ed25519 key (RFC 8410), without its last 32 bytes. */
const PRIVATE_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_HEAD = Buffer.from('302a300506032b6570032100', 'hex');
const EXPORTED_BYTES = 32;
const EXPORTER_LABEL = 'EXPORTER-rdmc-pull-origin';
const SIGNED_LABEL = Buffer.alloc(20);
SIGNED_LABEL.write('rdmc pull origin 1');

/** What a fetcher has. */
export interface FetcherKeys {
  readonly secret: Buffer;
  /** Public key of the origin. */
  readonly origin: KeyObject;
}

/** What a server has. */
export interface ServerKeys extends FetcherKeys {
  readonly signer: KeyObject;
}

/** The keys of a server, from the cluster key or the key of the user. @throws CastError ERR_RDMC_WRONG_ROLE, ERR_RDMC_INVALID_OPTION */
export function serverKeys(key: Key | undefined): ServerKeys {
  if (isFetchKey(key)) throw wrongRole('a server needs the key that it was made from');
  const bytes = clusterKey(key);
  const signer = createPrivateKey({
    key: Buffer.concat([PRIVATE_HEAD, derived(bytes, 'rdmc origin key 1')]),
    format: 'der',
    type: 'pkcs8',
  });
  return { secret: derived(bytes, 'rdmc fetch key 1'), signer, origin: createPublicKey(signer) };
}

/** The keys of a fetcher, from a key for fetching, or from what a server has. @throws as `serverKeys` */
export function fetcherKeys(key: Key | undefined): FetcherKeys {
  if (!isFetchKey(key)) return serverKeys(key);
  const match = TEXT.exec(textOf(key!).trim());
  if (!match) {
    const message = `the key for fetching is malformed: expected ${PREFIX} and 128 hexadecimal digits`;
    throw invalidOption(message);
  }
  const point = Buffer.from(match[2]!, 'hex');
  const origin = createPublicKey({
    key: Buffer.concat([PUBLIC_HEAD, point]),
    format: 'der',
    type: 'spki',
  });
  return { secret: Buffer.from(match[1]!, 'hex'), origin };
}

/**
 * Makes the key for fetching that belongs to a cluster key, as text. With it a process can fetch what servers with the
 * cluster key serve. It cannot serve, cast, receive, or join a mesh or a store.
 * @throws CastError ERR_RDMC_WRONG_ROLE where the key is one for fetching; ERR_RDMC_INVALID_OPTION
 */
export function fetchKey(key: Key): string {
  const { secret, origin } = serverKeys(key);
  return `${PREFIX}${secret.toString('hex')}${rawPublic(origin).toString('hex')}`;
}

/** Whether a key is one for fetching, by its form. */
export function isFetchKey(key: Key | undefined): boolean {
  return key !== undefined && textOf(key).trimStart().startsWith(PREFIX);
}

/** @param needed what is needed in the place of a key for fetching */
export function wrongRole(needed: string): CastError {
  return new CastError('ERR_RDMC_WRONG_ROLE', `the key is for fetching only; ${needed}`);
}

/** The server's proof that it has the cluster key, for this connection alone. */
export function proveOrigin(socket: Socket, signer: KeyObject): Buffer {
  return sign(null, signedBytes(socket), signer);
}

/** Whether a proof is that of this connection and origin. */
export function isOrigin(socket: Socket, origin: KeyObject, proof: Buffer): boolean {
  return verify(null, signedBytes(socket), origin, proof);
}

/** For tests and comparisons: whether two keys of an origin are equal. */
export function isSameOrigin(a: KeyObject, b: KeyObject): boolean {
  return timingSafeEqual(rawPublic(a), rawPublic(b));
}

function signedBytes(socket: Socket): Buffer {
  const exported = (socket as TLSSocket).exportKeyingMaterial(
    EXPORTED_BYTES,
    EXPORTER_LABEL,
    Buffer.alloc(0),
  );
  return Buffer.concat([SIGNED_LABEL, exported]);
}

function rawPublic(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES);
}

function clusterKey(key: Key | undefined): Buffer {
  if (key === undefined) return userKey();
  const bytes = Buffer.from(key as Uint8Array);
  if (bytes.length >= LEAST_KEY_BYTES) return bytes;
  const message = `key: found ${bytes.length} bytes, needed at least ${LEAST_KEY_BYTES}; make one with: openssl rand -hex 32`;
  throw invalidOption(message);
}

function derived(key: Buffer, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), info, KEY_BYTES));
}

function textOf(key: Key): string {
  return typeof key === 'string' ? key : Buffer.from(key).toString('latin1');
}
