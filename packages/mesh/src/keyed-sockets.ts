import type { Socket } from 'node:net';
import { Deadline, type Key, pause } from '@rdmc/common';
import { CUT_ATTEMPTS, CUT_PAUSE_MS, MAX_MEMBERS } from './constants.js';
import { type AbortError, codeOf, MeshError, messageOf, RdmcError, throwIfAborted } from './errors.js';
import { chooseKey, SAME_KEY_ADVICE, validateInsecure } from './key.js';
import type { Member } from './member.js';
import { describeAddress } from './members.js';
import { integerOption, onlyKnownOptions, signalOption, textOption } from './option-checks.js';
import { PendingConnections } from './pending-connections.js';
import { provenClient, provenServer, Security } from './security.js';
import { firstBytes, looksLikeTls, openSocket, prepared, socketEvent, unreachable } from './transport.js';

/** The options of {@link KeyedSockets}. */
export interface KeyedSocketsOptions {
  /** Cluster key of at least 16 bytes. Default: the key of the user that runs this process, which works on one host only. */
  readonly key?: Key | undefined;
  /** Use no key, not the user's either: connections are plain TCP. Contradicts `key`. Default false. */
  readonly insecure?: boolean | undefined;
  /** Names the protocol spoken on the sockets: ends with different purposes refuse each other, as with different keys. */
  readonly purpose: string;
  /** How many connections are expected from one address, or one IPv6 network, at once, 1 to 4096. Default 64. */
  readonly expected?: number | undefined;
}

const WHERE = 'KeyedSockets';
const CONNECT = 'KeyedSockets.connect';
const KNOWN_OPTIONS: readonly (keyof KeyedSocketsOptions)[] = ['key', 'insecure', 'purpose', 'expected'];
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 0x7fff_ffff;
const DEFAULT_EXPECTED = 64;

/**
 * Sockets under the cluster key, as the mesh uses them, for a protocol beside it: TLS 1.3 with a pre-shared key
 * derived for one purpose. `encodeFrame` makes frames for them, and `FrameReader` reads frames. The calling end
 * must send first: its first bytes show whether it uses a key.
 */
export class KeyedSockets {
  readonly #security: Security | undefined;
  readonly #pending: PendingConnections;

  /** @throws MeshError ERR_RDMC_MESH_INVALID_OPTION, ERR_RDMC_MESH_WEAK_KEY, ERR_RDMC_MESH_USER_KEY */
  constructor(options: KeyedSocketsOptions) {
    onlyKnownOptions(WHERE, options, KNOWN_OPTIONS);
    const { key: given, purpose } = options;
    textOption(WHERE, 'purpose', purpose);
    const key = chooseKey(given, validateInsecure(WHERE, options.insecure, given));
    if (key !== undefined) this.#security = Security.ofPurpose(key, purpose);
    this.#pending = new PendingConnections(
      integerOption(WHERE, 'expected', options.expected ?? DEFAULT_EXPECTED, 1, MAX_MEMBERS),
    );
  }

  /** Whether connections use a key: the given one, or the user's. */
  get keyed(): boolean {
    return this.#security !== undefined;
  }

  /** Describes the key in messages; undefined without a key. */
  get keyName(): string | undefined {
    return this.#security?.keyName;
  }

  /**
   * Connects, and with a key completes the handshake. Where the other end closes the connection before it answers,
   * as one with too many pending connections does, three attempts are made, with a short pause before the next. The socket
   * is the caller's; it has an 'error' listener.
   * @throws MeshError ERR_RDMC_MESH_UNREACHABLE with the system's error as `cause`, ERR_RDMC_MESH_WRONG_KEY where the
   *   other end uses another key, does not use a key, or does not use TLS; AbortError
   */
  async connect(
    to: Pick<Member, 'host' | 'port'>,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Socket> {
    onlyKnownOptions(CONNECT, options, ['timeoutMs', 'signal']);
    const timeoutMs = integerOption(
      CONNECT,
      'timeoutMs',
      options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      1,
      MAX_TIMEOUT_MS,
    );
    const signal = signalOption(CONNECT, options.signal);
    const where = describeAddress(to);
    const what = `connecting to ${where}`;
    throwIfAborted(what, signal);
    let raw = openSocket(to);
    const stop = new AbortController();
    const end = (reason: MeshError | AbortError): void => {
      stop.abort(reason);
      raw.destroy(reason);
    };
    const late = (): MeshError => unreachable(`no answer within ${timeoutMs} ms`);
    const deadline = new Deadline({ timeoutMs, late, signal, what }, (error) => {
      end(error as MeshError | AbortError);
    });
    try {
      for (let attempt = 1; ; attempt += 1) {
        await socketEvent(raw, 'connect');
        const socket = await this.#secured(raw, where, attempt < CUT_ATTEMPTS);
        if (socket !== undefined) return socket;
        await pause(CUT_PAUSE_MS * (0.75 + Math.random() / 2), stop.signal);
        stop.signal.throwIfAborted();
        raw = openSocket(to);
      }
    } catch (error) {
      raw.destroy();
      throwIfAborted(what, signal);
      if (error instanceof MeshError && error.code === 'ERR_RDMC_MESH_WRONG_KEY') throw error;
      const cause = stop.signal.reason ?? raw.errored ?? error;
      throw unreachable(`${where}: ${messageOf(cause)}`, cause);
    } finally {
      deadline.clear();
    }
  }

  /**
   * Takes a socket that a server accepted, looks at its first bytes, and with a key completes the handshake. The
   * result is paused, and its data has not been read. Until then the connection counts against its source's quota
   * (64 and those expected), and where that is full, the oldest one is closed for it; first bytes are due within 1 s, the proof
   * within 20 s.
   * @throws MeshError ERR_RDMC_MESH_WRONG_KEY, ERR_RDMC_MESH_PROTOCOL, ERR_RDMC_MESH_UNREACHABLE. The socket stays open, so
   *   that the caller can be told in the clear; a caller with a key then knows that this end does not use one
   */
  async accept(raw: Socket): Promise<Socket> {
    prepared(raw);
    const from = describeAddress({ host: raw.remoteAddress ?? '?', port: raw.remotePort ?? 0 });
    const pending = this.#pending.admit(raw);
    try {
      const isTls = looksLikeTls(await firstBytes(raw));
      pending.heard();
      if (isTls !== this.keyed) throw otherKeying(from, isTls, this.keyName);
      if (this.#security === undefined) return raw;
      const socket = this.#security.server(raw);
      await provenServer(socket, from, this.#security.keyName);
      return socket;
    } catch (error) {
      throw pending.reason ?? error;
    } finally {
      pending.done();
    }
  }

  /** Undefined: the other end closed the connection before it answered, and another attempt may be made. */
  async #secured(raw: Socket, where: string, mayTryAgain: boolean): Promise<Socket | undefined> {
    if (this.#security === undefined) return raw;
    const { keyName } = this.#security;
    const socket = this.#security.client(raw);
    try {
      await provenClient(socket, (how, cause) => {
        const text = `${where}: ${how}; this end uses ${keyName}; ${SAME_KEY_ADVICE}`;
        return new MeshError('ERR_RDMC_MESH_WRONG_KEY', text, { cause });
      });
      return socket;
    } catch (error) {
      if (!mayTryAgain || raw.errored instanceof RdmcError || !wasCut(error)) throw error;
      return undefined;
    }
  }
}

/** Whether a connection ended without an alert of TLS. */
function wasCut(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE', 'ERR_RDMC_MESH_UNREACHABLE'].includes(codeOf(error) ?? '');
}

function otherKeying(from: string, isTls: boolean, keyName: string | undefined): MeshError {
  const how = isTls
    ? 'uses a key, and this end does not'
    : `does not use a key, and this end uses ${keyName}`;
  return new MeshError('ERR_RDMC_MESH_WRONG_KEY', `the connection from ${from} ${how}; ${SAME_KEY_ADVICE}`);
}
