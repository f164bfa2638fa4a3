import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { CAST_ID_BYTES, KEY_BYTES, KEY_LABEL, SECRET_BYTES } from './layout.js';

/** A run of a cast: one group. */
export interface RunName {
  /** A UUID. */
  readonly castId: string;
  /** The name of the sender in its invitation. */
  readonly sender: string;
  /** Id of the group. */
  readonly run: number;
}

/** What both ends of a run need to seal and to open its messages. */
export interface RunSeal extends RunName {
  /** 32 random bytes of this run alone. */
  readonly secret: Uint8Array;
}

/** For one run. */
export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** The key of a run; see `layout.ts`. */
export function runKey({ secret, castId, sender, run }: RunSeal): KeyObject {
  const number = Buffer.alloc(4);
  number.writeUInt32LE(run);
  const info = Buffer.concat([Buffer.from(KEY_LABEL), castIdBytes(castId), number, Buffer.from(sender)]);
  const key = hkdfSync('sha256', secret, new Uint8Array(0), info, KEY_BYTES);
  return createSecretKey(new Uint8Array(key));
}

export function castIdBytes(castId: string): Buffer {
  const bytes = Buffer.from(castId.replaceAll('-', ''), 'hex');
  if (bytes.length !== CAST_ID_BYTES) throw new RangeError(`${castId} is not a UUID`);
  return bytes;
}
