/**
 * TLS 1.3 with a pre-shared key. No certificate is involved. Both ends prove that they hold the key (the PSK binder of
 * RFC 8446, section 4.2.11), and a Diffie-Hellman exchange keeps old traffic unreadable when the key leaks later. Such
 * keys work with the cipher suites whose hash is SHA-256, hence the one named here.
 *
 * A handshake that succeeds does not show by itself that the other end holds the key: TLS lets a server answer with a
 * certificate instead, and whether that one is trusted depends on the environment (NODE_EXTRA_CA_CERTS,
 * NODE_TLS_REJECT_UNAUTHORIZED). The proof is that the session was "reused": to TLS 1.3 an external key is
 * the same as a session to resume, and no other session exists here (no tickets, none given).
 */
import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket, connect as tlsConnect } from 'node:tls';
import { codeOf, MeshError, messageOf, protocolError } from './errors.js';
import { type ClusterKey, SAME_KEY_ADVICE } from './key.js';
import { guarded, socketEvent } from './transport.js';

const MESH_IDENTITY = 'rdmc-mesh';
const CIPHER_SUITE = 'TLS_AES_128_GCM_SHA256';

/** The TLS side of one mesh, or of one purpose: made once, used by every connection. */
export class Security {
  readonly #psk: Buffer;
  readonly #identity: string;
  readonly #context: SecureContext;

  private constructor(
    psk: Buffer,
    identity: string,
    /** Describes the key in messages. */
    readonly keyName: string,
  ) {
    this.#psk = psk;
    this.#identity = identity;
    this.#context = createSecureContext({
      minVersion: 'TLSv1.3',
      maxVersion: 'TLSv1.3',
      ciphers: CIPHER_SUITE,
      secureOptions: constants.SSL_OP_NO_TICKET,
      // No authority is trusted, whatever the environment adds.
      ca: [],
    });
  }

  static ofMesh(key: ClusterKey): Security {
    return new Security(key.psk, MESH_IDENTITY, key.name);
  }

  static ofPurpose(key: ClusterKey, purpose: string): Security {
    return new Security(key.secret(purpose), purpose, key.name);
  }

  /** The dialling end; `provenClient` completes its handshake. */
  client(raw: Socket): TLSSocket {
    return guarded(
      tlsConnect({
        socket: raw,
        secureContext: this.#context,
        pskCallback: () => ({ psk: this.#psk, identity: this.#identity }),
        // Explicit: NODE_TLS_REJECT_UNAUTHORIZED changes the default.
        rejectUnauthorized: true,
        // A connection with the key does not have a certificate whose name could be checked; one without it ends anyway.
        checkServerIdentity: () => undefined,
      }),
    );
  }

  /** The end that was dialled; `provenServer` completes its handshake. */
  server(raw: Socket): TLSSocket {
    const options = {
      isServer: true,
      secureContext: this.#context,
      pskCallback: (_socket: TLSSocket, identity: string) => (identity === this.#identity ? this.#psk : null),
    };
    return guarded(new TLSSocket(raw, options));
  }
}

/**
 * Completes the dialling end's handshake. Where the other end has not proved the key, the connection is destroyed.
 * @throws MeshError ERR_RDMC_MESH_WRONG_KEY made by `wrongKey`; or the error of the connection
 */
export async function provenClient(
  socket: TLSSocket,
  wrongKey: (how: string, cause?: unknown) => MeshError,
): Promise<void> {
  try {
    await socketEvent(socket, 'secureConnect');
  } catch (error) {
    if (socket.authorizationError)
      throw wrongKey('it sent a certificate instead of a proof of the key', error);
    if (codeOf(error)?.startsWith('ERR_SSL_'))
      throw wrongKey('it uses another key, or does not use a key', error);
    throw error;
  }
  if (requireKeyProof(socket)) return;
  throw wrongKey('it sent a certificate instead of a proof of the key');
}

/**
 * Completes the handshake of the end that was dialled.
 * @throws MeshError ERR_RDMC_MESH_WRONG_KEY, ERR_RDMC_MESH_PROTOCOL; or the error of the connection
 */
export async function provenServer(socket: TLSSocket, from: string, keyName: string): Promise<void> {
  try {
    await socketEvent(socket, 'secure');
  } catch (error) {
    throw classifyServerFailure(error, from, keyName);
  }
  if (!requireKeyProof(socket)) throw protocolError(`a connection from ${from} did not prove the key`);
}

/** Whether the other end has proved the key; destroys the connection where it has not. */
export function requireKeyProof(socket: TLSSocket): boolean {
  if (socket.isSessionReused()) return true;
  socket.destroy();
  return false;
}

/** Distinguishes a caller with another key from one that does not use TLS. */
function classifyServerFailure(error: unknown, from: string, keyName: string): unknown {
  const code = codeOf(error);
  if (code === 'ERR_SSL_BINDER_DOES_NOT_VERIFY') {
    return new MeshError(
      'ERR_RDMC_MESH_WRONG_KEY',
      `a connection from ${from} used another key; this end uses ${keyName}; ${SAME_KEY_ADVICE}`,
      { cause: error },
    );
  }
  if (code?.startsWith('ERR_SSL_')) {
    return protocolError(`a connection from ${from} did not use TLS with the key: ${messageOf(error)}`);
  }
  return error;
}
