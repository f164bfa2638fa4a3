import { createDecipheriv, type KeyObject } from 'node:crypto';
import { CastError, protocolError } from '../errors.js';
import { SpentBuffers } from '../spent-buffers.js';
import {
  CIPHER_BYTES,
  FLAGS_BYTES,
  payloadBytes,
  RECORD_BYTES,
  recordCount,
  SealFlag,
  TAG_BYTES,
} from './layout.js';
import { RecordNames } from './record-facts.js';
import { type RunSeal, runKey } from './run-key.js';

/** Checks and decrypts the messages of one run, in place; see `layout.ts`. */
export class MessageOpener {
  readonly #key: KeyObject;
  readonly #names: RecordNames;
  readonly #run: number;
  readonly #spent = new SpentBuffers();
  #isOver = false;

  /** @param onRecord called after every record */
  constructor(
    run: RunSeal,
    private readonly onRecord: () => void = () => {},
  ) {
    this.#key = runKey(run);
    this.#names = new RecordNames(run);
    this.#run = run.run;
  }

  /**
   * Returns the payload of a sealed message: the first bytes of `sealed`, which then have the plaintext. A record is
   * written there when its tag is checked, and all of them are checked before this returns.
   * @throws CastError ERR_RDMC_DECRYPT_FAILED where a byte differs from what was sealed as message `message` of this run;
   *   ERR_RDMC_CAST_PROTOCOL where the length is impossible, or the message comes after the last one; ERR_RDMC_NONCE_REFUSED
   */
  open(sealed: Buffer, message: number): Buffer {
    if (this.#isOver) throw protocolError(`message ${message} came after the last one of its cast`);
    const payload = sealed.subarray(0, payloadBytes(sealed.length));
    const ofMessage = sealed.readUInt32LE(sealed.length - FLAGS_BYTES);
    if (ofMessage > SealFlag.LAST_OF_CAST) throw this.#broken(message, 'its flags are unknown');
    const records = recordCount(payload.length);
    for (let record = 0; record < records; record += 1) {
      const bytes = payload.subarray(record * RECORD_BYTES, (record + 1) * RECORD_BYTES);
      const flags = record === records - 1 ? ofMessage | SealFlag.LAST_OF_MESSAGE : ofMessage;
      const tagAt = payload.length + record * TAG_BYTES;
      this.#openRecord(bytes, sealed.subarray(tagAt, tagAt + TAG_BYTES), { message, record, flags });
      this.onRecord();
    }
    this.#isOver = ofMessage === SealFlag.LAST_OF_CAST;
    return payload;
  }

  #openRecord(
    bytes: Buffer,
    tag: Buffer,
    { message, record, flags }: { readonly message: number; readonly record: number; readonly flags: number },
  ): void {
    const decipher = createDecipheriv('aes-256-gcm', this.#key, this.#names.nonce(message, record), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(this.#names.associated({ message, record, length: bytes.length, flags }));
    decipher.setAuthTag(tag);
    // Others may see the memory of messages, so the plaintext stays in memory of its own until the tag is checked.
    const plaintexts: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += CIPHER_BYTES)
      plaintexts.push(decipher.update(bytes.subarray(at, at + CIPHER_BYTES)));
    try {
      decipher.final();
    } catch {
      throw this.#broken(message, `record ${record} has a wrong tag`);
    }
    for (const [index, plaintext] of plaintexts.entries()) {
      bytes.set(plaintext, index * CIPHER_BYTES);
      this.#spent.add(plaintext);
    }
  }

  #broken(message: number, why: string): CastError {
    return new CastError(
      'ERR_RDMC_DECRYPT_FAILED',
      `message ${message} of run ${this.#run} cannot be decrypted (${why}); its bytes were altered, or are not those of this message; nothing of it is stored; cast again`,
    );
  }
}
