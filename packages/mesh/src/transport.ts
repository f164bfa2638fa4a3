/** Sockets before their first frame. */

import { connect, type Socket } from 'node:net';
import { KEEPALIVE_DELAY_MS } from './constants.js';
import { MeshError } from './errors.js';
import type { FrameReader } from './frame-reader.js';
import type { Frame } from './frames.js';
import type { Member } from './member.js';

/** Opens a TCP connection; the caller may destroy the socket at any time. */
export function openSocket(member: Pick<Member, 'host' | 'port'>): Socket {
  return prepared(connect({ host: member.host, port: member.port }));
}

/** Sets the options of a socket of the mesh, opened or accepted. */
export function prepared<S extends Socket>(socket: S): S {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEPALIVE_DELAY_MS);
  return guarded(socket);
}

/** Adds an 'error' listener, because an 'error' event without one ends the process. Waits add their own as well. */
export function guarded<S extends Socket>(socket: S): S {
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
    if (socket.destroyed) onEnd();
  });
}

export function unreachable(message: string, cause?: unknown): MeshError {
  return new MeshError('ERR_RDMC_MESH_UNREACHABLE', message, { cause });
}
