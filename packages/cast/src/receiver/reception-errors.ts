import { reasonOf } from '../control/control-channel.js';
import { CastError, toCastError } from '../errors.js';

export function encryptionRequired(): CastError {
  const message =
    'this receiver refuses casts that are not encrypted; cast without --no-encrypt (encrypt: false)';
  return new CastError('ERR_RDMC_ENCRYPTION_REQUIRED', message);
}

/** @param peer the sender */
export function senderLost(peer: string, cause: unknown): CastError {
  return new CastError('ERR_RDMC_SENDER_LOST', `the sender ${peer} was lost: ${reasonOf(cause)}`, { cause });
}

/** The sender has sent nothing. */
export function senderSilent(peer: string, milliseconds: number): CastError {
  return new CastError('ERR_RDMC_SENDER_LOST', `the sender ${peer} has sent nothing for ${milliseconds} ms`);
}

/** Errors of the connection become ERR_RDMC_SENDER_LOST; those of layers below keep their codes. */
export function asCastError(error: unknown, peer: string): CastError {
  return toCastError(error, 'ERR_RDMC_SENDER_LOST', `the sender ${peer} was lost: ${reasonOf(error)}`);
}
