/**
 * Sockets before anything is said on them: TCP, and TLS 1.3 with a pre-shared key over it.
 *
 * No certificate is involved. Both ends prove that they hold the key (the PSK binder of RFC 8446,
 * section 4.2.11), and a Diffie-Hellman exchange keeps old traffic unreadable when the key leaks
 * later. Such keys work with the cipher suites whose hash is SHA-256, hence the one named here.
 */

import { constants } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket, connect as tlsConnect } from 'node:tls';
import { KEEPALIVE_DELAY_MS } from './constants.js';
import { codeOf, MeshError, messageOf, protocolError } from './errors.js';
import type { FrameReader } from './frame-reader.js';
import type { Frame } from './frames.js';
import type { Member } from './members.js';

const MESH_IDENTITY = 'rdmc-mesh';
const CIPHER_SUITE = 'TLS_AES_128_GCM_SHA256';

/** The TLS side of one mesh: made once, used by every connection. */
export class Security {
  readonly #psk: Buffer;
  readonly #identity: string;
  readonly #context: SecureContext;

  constructor(psk: Buffer, identity = MESH_IDENTITY) {
    this.#psk = psk;
    this.#identity = identity;
    this.#context = createSecureContext({
      minVersion: 'TLSv1.3',
      maxVersion: 'TLSv1.3',
      ciphers: CIPHER_SUITE,
      secureOptions: constants.SSL_OP_NO_TICKET,
    });
  }

  client(raw: Socket): TLSSocket {
    return guarded(
      tlsConnect({
        socket: raw,
        secureContext: this.#context,
        pskCallback: () => ({ psk: this.#psk, identity: this.#identity }),
        // There is no certificate whose name could be checked; the key is the identity.
        checkServerIdentity: () => undefined,
      }),
    );
  }

  server(raw: Socket): TLSSocket {
    const options = {
      isServer: true,
      secureContext: this.#context,
      pskCallback: (_socket: TLSSocket, identity: string) => (identity === this.#identity ? this.#psk : null),
    };
    return guarded(new TLSSocket(raw, options));
  }
}

/** Opens a TCP connection; the caller may destroy the socket at any time. */
export function openSocket(member: Pick<Member, 'host' | 'port'>): Socket {
  return prepared(connect({ host: member.host, port: member.port }));
}

/** What every socket of the mesh gets, dialled or accepted. */
export function prepared<S extends Socket>(socket: S): S {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEPALIVE_DELAY_MS);
  return guarded(socket);
}

/** An 'error' event without a listener ends the process; whoever waits listens on its own as well. */
function guarded<S extends Socket>(socket: S): S {
  socket.on('error', () => {});
  return socket;
}

/** Waits for a socket's event; rejects when the socket fails or closes before it. */
export function socketEvent(socket: Socket, event: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => () => {
      socket.off(event, onEvent).off('error', onError).off('close', onClose);
      act();
    };
    const onEvent = settle(resolve);
    const onClose = settle(() => reject(unreachable('the connection closed')));
    const onError = (error: Error) => settle(() => reject(error))();
    socket.on(event, onEvent).on('error', onError).on('close', onClose);
    if (socket.destroyed) onClose();
  });
}

/** Waits for one whole frame. The socket is paused when this settles; later bytes stay in `reader`. */
export function nextFrame(socket: Socket, reader: FrameReader): Promise<Frame> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      socket.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', fail);
      socket.pause();
    };
    const fail = (error: unknown) => {
      stop();
      reject(error);
    };
    const take = (): boolean => {
      try {
        const frame = reader.next();
        if (frame === undefined) return false;
        stop();
        resolve(frame);
      } catch (error) {
        fail(error);
      }
      return true;
    };
    const onData = (chunk: Buffer) => {
      reader.push(chunk);
      take();
    };
    const onEnd = () => fail(unreachable('the connection ended before it was introduced'));
    socket.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', fail);
    if (socket.destroyed) onEnd();
    // A listener alone does not restart a socket that the last call paused.
    else if (!take()) socket.resume();
  });
}

/** Enough to tell TLS from a frame: a frame before the HELLO is short, so its third byte is 0. */
export const TLS_HEAD_BYTES = 3;

/** A TLS record starts with a content type (20 to 23) and a version, 3.1 to 3.4. */
export function looksLikeTls(head: Buffer): boolean {
  if (head.length < TLS_HEAD_BYTES) return false;
  return head[0]! >= 20 && head[0]! <= 23 && head[1] === 3 && head[2]! >= 1 && head[2]! <= 4;
}

/** Waits for the first bytes and puts them back, so that a TLS socket made of this one reads them. */
export function firstBytes(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let seen = Buffer.alloc(0);
    const stop = () => {
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      socket.pause();
    };
    const onData = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      if (seen.length < TLS_HEAD_BYTES) return;
      stop();
      socket.unshift(seen);
      resolve(seen.subarray(0, TLS_HEAD_BYTES));
    };
    const onEnd = () => {
      stop();
      reject(unreachable('the connection ended before its first bytes'));
    };
    socket.on('data', onData).on('end', onEnd).on('close', onEnd);
  });
}

export function dialledWithWrongKey(where: string, cause: unknown): MeshError {
  return new MeshError(
    'ERR_RDMC_MESH_WRONG_KEY',
    `${where} refused this member's cluster key, or has none, or is no member of a mesh; give all members the same key`,
    { cause },
  );
}

/** Tells a caller with another key from one that speaks no TLS at all. */
export function classifyServerFailure(error: unknown, from: string): unknown {
  const code = codeOf(error);
  if (code === 'ERR_SSL_BINDER_DOES_NOT_VERIFY') {
    return new MeshError('ERR_RDMC_MESH_WRONG_KEY', `a connection from ${from} used another cluster key`, {
      cause: error,
    });
  }
  if (code?.startsWith('ERR_SSL_')) {
    return protocolError(
      `a connection from ${from} did not speak TLS with the cluster key: ${messageOf(error)}`,
    );
  }
  return error;
}

export function unreachable(message: string, cause?: unknown): MeshError {
  return new MeshError('ERR_RDMC_MESH_UNREACHABLE', message, { cause });
}
