import { execFile } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { within } from '@rdmc/common';
import { fillFrom, PYTHON, SEED } from '@rdmc/testing';

/** Connections of non-members, and their data. */

/** For what hangs. */
const END_WITHIN_MS = 120_000;

function lengthOf(bytes: number, length: number): Buffer {
  const frame = Buffer.alloc(bytes, 1);
  frame.writeUInt32LE(length, 0);
  return frame;
}

function noise(bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  fillFrom(SEED, buffer);
  return buffer;
}

/** By what it is; the random bytes follow from SEED. */
export const NONSENSE: readonly (readonly [string, Buffer])[] = [
  ['random bytes', noise(4096)],
  ['zeros', Buffer.alloc(4096)],
  ['ones', Buffer.alloc(4096, 0xff)],
  ['a length of nearly 4 GiB', lengthOf(64, 0xffff_fff0)],
  ['a length of 1 GiB', lengthOf(64, 1 << 30)],
  ['a megabyte of random bytes', noise(1 << 20)],
  ['a request of another protocol', Buffer.from('GET / HTTP/1.1\r\nHost: here\r\n\r\n')],
];

/** Sends it, and resolves when the other side has ended the connection. */
export async function sendNonsense(port: number, bytes: Buffer): Promise<void> {
  await stranger(port, (socket) => socket.write(bytes));
}

/**
 * Announces a frame of nearly 4 GiB and sends without end. Resolves with the bytes that were accepted until the other side
 * ended the connection, or with `mostBytes`.
 */
export async function flood(port: number, mostBytes: number): Promise<number> {
  const piece = Buffer.alloc(1 << 20, 1);
  let taken = 0;
  await stranger(port, (socket) => {
    const pour = (error?: Error | null): void => {
      if (error) return;
      taken += piece.length;
      if (taken >= mostBytes) socket.destroy();
      else socket.write(piece, pour);
    };
    socket.write(lengthOf(64, 0xffff_fff0));
    socket.write(piece, pour);
  });
  return taken;
}

async function stranger(port: number, speak: (socket: Socket) => void): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port });
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  // It is cut off, in the middle of its bytes or after them: both are an end.
  socket.on('error', () => {}).resume();
  const late = (timeoutMs: number): Error =>
    new Error(`Port ${port} has not ended a connection with nonsense after ${timeoutMs} ms`);
  try {
    speak(socket);
    await within(ended, { timeoutMs: END_WITHIN_MS, late });
  } finally {
    socket.destroy();
  }
}

const script = fileURLToPath(new URL('unix-stranger.py', import.meta.url));

/** The same at an abstract sequenced-packet socket, which Node cannot open. */
export async function sendNonsenseToSocket(
  name: string,
  connections: number,
): Promise<{ sent: number; ended: number }> {
  // The kernel's table shows the leading zero byte as '@'.
  const args = [script, name.replace(/^@/, ''), String(connections)];
  const { stdout } = await promisify(execFile)(PYTHON, args, { timeout: 240_000 });
  return JSON.parse(stdout) as { sent: number; ended: number };
}
