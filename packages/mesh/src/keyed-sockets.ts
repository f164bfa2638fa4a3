import type { Socket } from 'node:net';
import { codeOf, invalidOption, MeshError } from './errors.js';
import { ClusterKey } from './key.js';
import { describeAddress, type Member } from './members.js';
import { integer, refuseUnknown, validateSignal } from './options.js';
import {
  classifyServerFailure,
  firstBytes,
  looksLikeTls,
  openSocket,
  prepared,
  Security,
  socketEvent,
  unreachable,
} from './transport.js';

export interface KeyedSocketsOptions {
  /** Cluster key of at least 16 bytes. With it connections are TLS 1.3; without it they are plain TCP. */
  readonly key?: Uint8Array | string | undefined;
  /** Names the protocol spoken on the sockets: ends with different purposes refuse each other, as with different keys. */
  readonly purpose: string;
}

const KNOWN_OPTIONS = new Set<keyof KeyedSocketsOptions>(['key', 'purpose']);
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 0x7fff_ffff;

/**
 * Sockets under the cluster key, as the mesh uses them, for a protocol beside it: TLS 1.3 with a pre-shared key
 * derived for one purpose. Frames on them can be made with `encodeFrame` and cut with `FrameReader`. The calling end
 * must speak first: by its first bytes the other tells whether it has a key.
 */
export class KeyedSockets {
  readonly #security: Security | undefined;

  /** @throws MeshError ERR_RDMC_MESH_INVALID_OPTION, ERR_RDMC_MESH_WEAK_KEY */
  constructor(options: KeyedSocketsOptions) {
    refuseUnknown(options, KNOWN_OPTIONS, 'KeyedSockets');
    const { key, purpose } = options;
    if (typeof purpose !== 'string' || purpose.length === 0) throw invalidOption('purpose: needed a text');
    if (key !== undefined) this.#security = new Security(new ClusterKey(key).secret(purpose), purpose);
  }

  /** Whether connections are under a key. */
  get keyed(): boolean {
    return this.#security !== undefined;
  }

  /**
   * Connects, and with a key completes the handshake. The socket is the caller's; it has an 'error' listener.
   * @throws MeshError ERR_RDMC_MESH_UNREACHABLE with the system's error as `cause`, ERR_RDMC_MESH_WRONG_KEY where the
   *   other end has another key, none, or speaks no TLS; ERR_RDMC_MESH_ABORTED
   */
  async connect(
    to: Pick<Member, 'host' | 'port'>,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Socket> {
    refuseUnknown(options, new Set(['timeoutMs', 'signal']), 'connect');
    const timeoutMs = integer('timeoutMs', options.timeoutMs, DEFAULT_TIMEOUT_MS, 1, MAX_TIMEOUT_MS);
    const signal = validateSignal(options.signal);
    const where = describeAddress(to);
    if (signal?.aborted) throw aborted(where, signal);
    const raw = openSocket(to);
    const onAbort = (): void => void raw.destroy(aborted(where, signal!));
    const timer = setTimeout(() => raw.destroy(unreachable(`no answer within ${timeoutMs} ms`)), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await socketEvent(raw, 'connect');
      return await this.#secured(raw, where);
    } catch (error) {
      raw.destroy();
      if (signal?.aborted) throw aborted(where, signal);
      if (error instanceof MeshError && error.code === 'ERR_RDMC_MESH_WRONG_KEY') throw error;
      throw unreachable(`${where}: ${(error as Error).message}`, error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Takes a socket that a server accepted, looks at its first bytes, and with a key completes the handshake. The
   * result is paused, and nothing of it has been read.
   * @throws MeshError ERR_RDMC_MESH_WRONG_KEY, ERR_RDMC_MESH_PROTOCOL, ERR_RDMC_MESH_UNREACHABLE. The socket stays open,
   *   so that the caller can be told in the clear; who has a key and reads that knows that this end has none
   */
  async accept(raw: Socket): Promise<Socket> {
    prepared(raw);
    const from = describeAddress({ host: raw.remoteAddress ?? '?', port: raw.remotePort ?? 0 });
    const tls = looksLikeTls(await firstBytes(raw));
    if (tls !== this.keyed) {
      const theirs = tls ? 'uses a key, and this end has none' : 'uses no key, and this end has one';
      throw new MeshError('ERR_RDMC_MESH_WRONG_KEY', `the connection from ${from} ${theirs}`);
    }
    if (this.#security === undefined) return raw;
    const socket = this.#security.server(raw);
    try {
      await socketEvent(socket, 'secure');
    } catch (error) {
      throw classifyServerFailure(error, from);
    }
    return socket;
  }

  async #secured(raw: Socket, where: string): Promise<Socket> {
    if (this.#security === undefined) return raw;
    const socket = this.#security.client(raw);
    try {
      await socketEvent(socket, 'secureConnect');
    } catch (error) {
      if (!codeOf(error)?.startsWith('ERR_SSL_')) throw error;
      throw new MeshError('ERR_RDMC_MESH_WRONG_KEY', `${where} has another key, or none`, { cause: error });
    }
    return socket;
  }
}

function aborted(where: string, signal: AbortSignal): MeshError {
  return new MeshError('ERR_RDMC_MESH_ABORTED', `connecting to ${where} was aborted by its signal`, {
    cause: signal.reason,
  });
}
