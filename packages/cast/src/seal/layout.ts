/**
 * A sealed message: how a message of the stream travels in an encrypted cast. The payload (a message of
 * `stream/layout.ts`) is cut into records of 1 MiB; the last one may be shorter. Each record is encrypted with
 * AES-256-GCM. Ciphertext has the length of the plaintext, so a message is sealed and opened in place. All integers are
 * little endian.
 *
 *   byte  0              1 MiB                      p         p + 16              p + 16 r    p + 16 r + 4
 *         +--------------+------------+- … ---------+---------+- … -+-------------+-----------+
 *         | record 0     | record 1   | record r-1  | tag 0   |     | tag r-1     | flags     |
 *         | 1 MiB        | 1 MiB      | 1 B - 1 MiB | 16 B    |     | 16 B        | u32       |
 *         +--------------+------------+- … ---------+---------+- … -+-------------+-----------+
 *   p is the length of the payload, at least 1; r = ceil(p / 1 MiB). Both follow from the length of the message.
 *   flags: 1 = this is the last message of the cast; other bits are zero. Every tag covers the flags.
 *
 * A run is one group of a cast: the first one, one of survivors after a loss, one of a retry. Each run has a new random
 * secret of 32 bytes, which the sender sends to each receiver over its control connection.
 *
 *   key    HKDF-SHA256 of the secret, without salt, 32 bytes; info:
 *
 *          byte  0                  16           32       36
 *                +------------------+------------+--------+----------------+
 *                | rdmc cast seal 1 | id of cast | run    | name of sender |
 *                | ASCII            | UUID, 16 B | u32    | UTF-8          |
 *                +------------------+------------+--------+----------------+
 *
 *   nonce of a record                          associated data of a record
 *
 *   byte  0         4        8      12         byte  0            16     20        24       28       32      36
 *         +---------+--------+------+                +------------+------+---------+--------+--------+-------+
 *         | message | record | zero |                | id of cast | run  | message | record | length | flags |
 *         | u32     | u32    | u32  |                | UUID, 16 B | u32  | u32     | u32    | u32    | u32   |
 *         +---------+--------+------+                +------------+------+---------+--------+--------+-------+
 *
 *   message is the sequence number of the message in its stream, record the number of the record in the message, and
 *   length its bytes. Flags of a record: 1 = last message of the cast, 2 = last record of the message.
 *
 * A nonce is never used twice under one key with different plaintext: a run seals each message once, in ascending order;
 * what it sends again is the same ciphertext. A file may change between two runs, but each run has its own key.
 */
import { KIB, MIB } from '../constants.js';
import { protocolError } from '../errors.js';

/** Largest record. */
export const RECORD_BYTES = MIB;
/** Bytes of one call of a cipher: its result is still in the processor's cache when it is copied. */
export const CIPHER_BYTES = 128 * KIB;
export const TAG_BYTES = 16;
export const FLAGS_BYTES = 4;
export const SECRET_BYTES = 32;
export const KEY_BYTES = 32;
export const CAST_ID_BYTES = 16;
export const KEY_LABEL = 'rdmc cast seal 1';
export const NONCE_BYTES = 12;
export const ASSOCIATED_BYTES = 36;

export const SealFlag = { LAST_OF_CAST: 1, LAST_OF_MESSAGE: 2 } as const;

export const MAX_COUNTER = 0xffff_ffff;

/** Number of records of a payload. */
export function recordCount(payloadBytes: number): number {
  return Math.ceil(payloadBytes / RECORD_BYTES);
}

/** Length of a payload when it is sealed. */
export function sealedBytes(payloadBytes: number): number {
  return payloadBytes + recordCount(payloadBytes) * TAG_BYTES + FLAGS_BYTES;
}

/** The longest payload whose sealed message is at most `messageBytes` long. */
export function payloadRoom(messageBytes: number): number {
  const records = Math.ceil((messageBytes - FLAGS_BYTES) / (RECORD_BYTES + TAG_BYTES));
  // Where only a tag's bytes are left for the last record, the record before it is full, and the rest is unused.
  const room = messageBytes - FLAGS_BYTES - records * TAG_BYTES;
  return Math.max(room, (records - 1) * RECORD_BYTES);
}

/** Length of the payload of a sealed message. @throws CastError ERR_RDMC_CAST_PROTOCOL where no payload has that length */
export function payloadBytes(messageBytes: number): number {
  const records = Math.ceil((messageBytes - FLAGS_BYTES) / (RECORD_BYTES + TAG_BYTES));
  const payload = messageBytes - FLAGS_BYTES - records * TAG_BYTES;
  if (records < 1 || payload < 1 || recordCount(payload) !== records)
    throw protocolError(`an encrypted message is truncated: it cannot have ${messageBytes} bytes`);
  return payload;
}
