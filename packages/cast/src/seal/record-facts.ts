import { CastError } from '../errors.js';
import { ASSOCIATED_BYTES, CAST_ID_BYTES, MAX_COUNTER, NONCE_BYTES } from './layout.js';
import { castIdBytes, type RunName } from './run-key.js';

/** A record of a sealed message. */
export interface RecordFacts {
  readonly message: number;
  readonly record: number;
  readonly length: number;
  /** Bits of `SealFlag`. */
  readonly flags: number;
}

/** The nonces and the associated data of the records of a run; see `layout.ts`. Each call reuses the same memory. */
export class RecordNames {
  readonly #nonce = Buffer.alloc(NONCE_BYTES);
  readonly #associated = Buffer.alloc(ASSOCIATED_BYTES);

  constructor({ castId, run }: RunName) {
    castIdBytes(castId).copy(this.#associated);
    this.#associated.writeUInt32LE(run, CAST_ID_BYTES);
  }

  /** @throws CastError ERR_RDMC_NONCE_REFUSED where a counter has no room for the number */
  nonce(message: number, record: number): Buffer {
    this.#nonce.writeUInt32LE(counter('messages', message), 0);
    this.#nonce.writeUInt32LE(counter('records of a message', record), 4);
    return this.#nonce;
  }

  associated({ message, record, length, flags }: RecordFacts): Buffer {
    const bytes = this.#associated;
    bytes.writeUInt32LE(message, CAST_ID_BYTES + 4);
    bytes.writeUInt32LE(record, CAST_ID_BYTES + 8);
    bytes.writeUInt32LE(length, CAST_ID_BYTES + 12);
    bytes.writeUInt32LE(flags, CAST_ID_BYTES + 16);
    return bytes;
  }
}

function counter(what: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= MAX_COUNTER) return value;
  throw new CastError(
    'ERR_RDMC_NONCE_REFUSED',
    `an encrypted cast cannot have more than ${MAX_COUNTER + 1} ${what}; use larger messages, or several casts`,
  );
}
