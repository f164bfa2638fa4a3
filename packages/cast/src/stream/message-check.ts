import { type Checksum, fileDigest } from '../checksum.js';
import { CastError, protocolError } from '../errors.js';
import { CHECK_RECORD_BYTES, MESSAGE_HEADER_BYTES } from './layout.js';
import { decodeMessage } from './message-decoder.js';
import type { MessageEncoder } from './message-encoder.js';
import type { StreamRecord } from './records.js';
import { writeUnsigned64 } from './words.js';

/*
 * The digest of a CHECK covers {u64 sequence of the message} and the bytes of all records before it, with the cast's
 * checksum. `number` is the nonce of 'gmac': the sender uses each once, also when it fills a message again.
 */
const SEQUENCE_BYTES = 8;

function messageDigest(checksum: Checksum, number: number, sequence: number, records: Uint8Array): Buffer {
  const digest = fileDigest(checksum, number, 'message');
  const head = Buffer.alloc(SEQUENCE_BYTES);
  writeUnsigned64(head, 0, sequence);
  digest.update(head);
  digest.update(records);
  return digest.digest();
}

/** Ends the messages of a cast with a CHECK. */
export class MessageChecks {
  #number = 0;

  constructor(private readonly checksum: Checksum) {}

  /** @param target the message's memory, with the room of a CHECK behind the encoder's capacity */
  add(encoder: MessageEncoder, target: Buffer, sequence: number): void {
    const number = this.#number++;
    const records = target.subarray(MESSAGE_HEADER_BYTES, encoder.length);
    encoder.check(number, messageDigest(this.checksum, number, sequence, records));
  }
}

/**
 * The records of a message, when its CHECK has shown that none of its bytes was damaged. Nothing is copied.
 * @throws CastError ERR_RDMC_HASH_MISMATCH, ERR_RDMC_CAST_PROTOCOL and the others of `decodeMessage`
 */
export function checkedRecords(message: Buffer, sequence: number, checksum: Checksum): StreamRecord[] {
  const records = [...decodeMessage(message, sequence)];
  const check = records.pop();
  if (check?.type !== 'check' || records.some(({ type }) => type === 'check'))
    throw protocolError(`message ${sequence} does not end with its only check`);
  const covered = message.subarray(MESSAGE_HEADER_BYTES, message.length - CHECK_RECORD_BYTES);
  if (!messageDigest(checksum, check.number, sequence, covered).equals(check.digest)) {
    throw new CastError(
      'ERR_RDMC_HASH_MISMATCH',
      `message ${sequence} was damaged on its way: its digest differs from that of the sender; cast again`,
    );
  }
  return records;
}
