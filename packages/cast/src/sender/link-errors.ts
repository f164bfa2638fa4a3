import { reasonOf } from '../control/control-channel.js';
import { CastError, type CastErrorCode, codeOf, messageOf } from '../errors.js';

/** An error of a connection to a receiver. Errors of layers below keep their codes. */
export function asLinkError(error: unknown, name: string, fallback: CastErrorCode): CastError {
  if (error instanceof CastError) return error;
  const code = codeOf(error);
  const known = code?.startsWith('ERR_RDMC_') ? code : fallback;
  const message = code?.startsWith('ERR_RDMC_') ? messageOf(error) : `${name} was lost: ${reasonOf(error)}`;
  return new CastError(known, message, { cause: error, receiver: name });
}

export function noRoom(name: string, roomBytes: number, needed: number): CastError {
  const message = `${name} has room for ${roomBytes} bytes, but ${needed} are needed; make room there`;
  return new CastError('ERR_RDMC_NO_SPACE', message, { receiver: name });
}

/** The sender has ended the cast: a failure of its own, or its signal. */
export function endedBySender(name: string, cause?: unknown): CastError {
  return new CastError('ERR_RDMC_ABORTED', ENDED_BY_SENDER, { cause, receiver: name });
}

export const ENDED_BY_SENDER = 'the sender ended the cast';

export function silentReceiver(name: string, timeoutMs: number): CastError {
  const message = `${name} did not answer within ${timeoutMs} ms`;
  return new CastError('ERR_RDMC_CAST_UNREACHABLE', message, { receiver: name });
}
