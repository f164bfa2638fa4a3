import { createHash } from 'node:crypto';
import { CastError, protocolError } from '../errors.js';
import * as layout from './layout.js';

/**
 * The outline of a message: all its bytes except the data of files. The digests of the files are in it, so it stands for
 * their data too, where these digests are SHA-256. The sender sends the SHA-256 of each outline directly to each
 * receiver, so that no relay can alter anything without notice.
 */
export function outlineHash(message: Buffer): string {
  if (message.length < layout.MESSAGE_HEADER_BYTES)
    throw protocolError('a message is shorter than its header');
  const hash = createHash('sha256');
  // Consecutive bytes without data between them are hashed by one call.
  let from = 0;
  let at: number = layout.MESSAGE_HEADER_BYTES;
  while (at < message.length) {
    const left = message.length - at - layout.RECORD_HEADER_BYTES;
    if (left < 0) throw cutOff();
    const fieldBytes = message.readUInt32LE(at + layout.FIELD_BYTES_AT);
    const dataBytes = message.readUInt32LE(at + layout.DATA_BYTES_AT);
    if (fieldBytes > left || dataBytes > left - fieldBytes) throw cutOff();
    at += layout.RECORD_HEADER_BYTES + fieldBytes;
    if (dataBytes === 0) continue;
    hash.update(message.subarray(from, at));
    at += dataBytes;
    from = at;
  }
  return hash.update(message.subarray(from)).digest('hex');
}

/** @throws CastError ERR_RDMC_HASH_MISMATCH where the message has another outline; ERR_RDMC_CAST_PROTOCOL */
export function checkOutline(message: Buffer, sequence: number, expected: string): void {
  if (outlineHash(message) === expected) return;
  throw new CastError(
    'ERR_RDMC_HASH_MISMATCH',
    `message ${sequence} differs from what the sender sent: a member of the group has altered it; nothing of it is stored`,
  );
}

function cutOff(): CastError {
  return protocolError('a record of a message is cut off');
}
