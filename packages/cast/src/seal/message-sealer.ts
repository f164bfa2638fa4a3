import { createCipheriv, type KeyObject } from 'node:crypto';
import { CastError } from '../errors.js';
import { SpentBuffers } from '../spent-buffers.js';
import {
  CIPHER_BYTES,
  FLAGS_BYTES,
  RECORD_BYTES,
  recordCount,
  SealFlag,
  sealedBytes,
  TAG_BYTES,
} from './layout.js';
import { RecordNames } from './record-facts.js';
import { type RunSeal, runKey } from './run-key.js';

/** Encrypts the messages of one run, in place; see `layout.ts`. Every message once, in ascending order. */
export class MessageSealer {
  readonly #key: KeyObject;
  readonly #names: RecordNames;
  readonly #spent = new SpentBuffers();
  #next = 0;

  constructor(run: RunSeal) {
    this.#key = runKey(run);
    this.#names = new RecordNames(run);
  }

  /**
   * Encrypts the first `payloadBytes` bytes of `memory`, and writes tags and flags behind them. Returns the length of the
   * sealed message.
   * @param isLast whether it is the last message of the cast
   * @throws CastError ERR_RDMC_NONCE_REFUSED where a nonce would be used twice; nothing is encrypted then
   */
  seal(memory: Buffer, payloadBytes: number, message: number, isLast: boolean): number {
    if (message < this.#next) throw repeated(message);
    const records = recordCount(payloadBytes);
    // Both counters are checked before anything is encrypted.
    this.#names.nonce(message, records - 1);
    this.#next = message + 1;
    const ofMessage = isLast ? SealFlag.LAST_OF_CAST : 0;
    for (let record = 0; record < records; record += 1) {
      const at = record * RECORD_BYTES;
      const plaintext = memory.subarray(at, Math.min(at + RECORD_BYTES, payloadBytes));
      const flags = record === records - 1 ? ofMessage | SealFlag.LAST_OF_MESSAGE : ofMessage;
      const tag = this.#sealRecord(plaintext, message, record, flags);
      tag.copy(memory, payloadBytes + record * TAG_BYTES);
    }
    const length = sealedBytes(payloadBytes);
    memory.writeUInt32LE(ofMessage, length - FLAGS_BYTES);
    return length;
  }

  #sealRecord(bytes: Buffer, message: number, record: number, flags: number): Buffer {
    const cipher = createCipheriv('aes-256-gcm', this.#key, this.#names.nonce(message, record), {
      authTagLength: TAG_BYTES,
    });
    cipher.setAAD(this.#names.associated({ message, record, length: bytes.length, flags }));
    // `update` allocates its result.
    for (let at = 0; at < bytes.length; at += CIPHER_BYTES) {
      const ciphertext = cipher.update(bytes.subarray(at, at + CIPHER_BYTES));
      bytes.set(ciphertext, at);
      this.#spent.add(ciphertext);
    }
    cipher.final();
    return cipher.getAuthTag();
  }
}

function repeated(message: number): CastError {
  return new CastError(
    'ERR_RDMC_NONCE_REFUSED',
    `message ${message} of an encrypted cast would be encrypted twice in one run`,
  );
}
