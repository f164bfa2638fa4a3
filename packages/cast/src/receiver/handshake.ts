import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import { codecsHere } from '../compression/codec.js';
import { CAST_PROTOCOL_VERSION } from '../constants.js';
import { ControlChannel, encodeControlFrame, peerOf } from '../control/control-channel.js';
import { type Invitation, type ReceiverFrame, type SenderFrame, shapes } from '../control/frames.js';
import { CastError, type CastErrorCode, codeOf, messageOf, protocolError } from '../errors.js';
import { SOFTWARE } from '../identity.js';

interface Introduced {
  readonly channel: ControlChannel<ReceiverFrame, SenderFrame>;
  readonly frames: AsyncIterator<SenderFrame, void, undefined>;
  readonly invitation: Invitation;
}

/**
 * Answers a caller's 'call' and waits for its invitation. Undefined where the caller disconnects.
 * @throws CastError, which was sent to the caller
 */
export async function handshake(
  socket: Socket,
  instance: string,
  busy: () => boolean,
): Promise<Introduced | undefined> {
  const channel = new ControlChannel<ReceiverFrame, SenderFrame>(socket, shapes.sender, peerOf(socket));
  const frames = channel[Symbol.asyncIterator]();
  try {
    const call = await expect(frames, 'call');
    if (call === undefined) return undefined;
    channel.send({
      type: 'hello',
      version: CAST_PROTOCOL_VERSION,
      software: SOFTWARE,
      hostName: hostname(),
      pid: process.pid,
      instance,
      codecs: codecsHere(),
    });
    const invitation = await expect(frames, 'invite');
    if (invitation === undefined) return undefined;
    if (busy())
      throw new CastError(
        'ERR_RDMC_BUSY',
        'the receiver has its maximum of casts (with `once`: one); try again later',
      );
    return { channel, frames, invitation };
  } catch (error) {
    const code = error instanceof CastError ? error.code : 'ERR_RDMC_CAST_PROTOCOL';
    await channel.end({ type: 'refused', code, message: messageOf(error) });
    throw error;
  }
}

async function expect<T extends SenderFrame['type']>(
  frames: AsyncIterator<SenderFrame, void, undefined>,
  type: T,
): Promise<Extract<SenderFrame, { type: T }> | undefined> {
  const { value, done } = await frames.next();
  if (done || value.type === 'abort') return undefined;
  if (value.type === type) return value as Extract<SenderFrame, { type: T }>;
  throw protocolError(`received '${value.type}' instead of '${type}'`);
}

/** Closes a connection whose keys differ, after a 'refused' frame without encryption. */
export function refuseKey(raw: Socket, error: unknown): void {
  if (codeOf(error) === 'ERR_RDMC_MESH_WRONG_KEY' && raw.writable) {
    const code: CastErrorCode = 'ERR_RDMC_KEY_MISMATCH';
    raw.write(encodeControlFrame({ type: 'refused', code, message: messageOf(error) }));
  }
  raw.destroySoon();
}
