import crypto, { type CipherGCM, createHash, KeyObject } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/** A nonce that was used with a key, and what for. */
export interface UsedNonce {
  /** Hash of the key. */
  readonly key: string;
  readonly nonce: string;
  /** Hash of plaintext and associated data. */
  readonly content: string;
  /** Whether there was plaintext; else it is a GMAC. */
  readonly encrypts: boolean;
}

const short = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 32);

/**
 * Calls `action`, and returns all nonces with which AES-GCM encrypted something, or made a tag, meanwhile in this thread.
 */
export function traceNonces(action: () => void): UsedNonce[] {
  const used = new Set<() => UsedNonce>();
  const { createCipheriv } = crypto;
  const traced = (algorithm: string, key: KeyObject | Uint8Array, nonce: Uint8Array, options?: object) => {
    const cipher = createCipheriv(algorithm as 'aes-256-gcm', key, nonce, options as object) as CipherGCM;
    if (algorithm === 'aes-256-gcm') watch(cipher, key, Buffer.from(nonce).toString('hex'), used);
    return cipher;
  };
  Object.assign(crypto, { createCipheriv: traced });
  syncBuiltinESMExports();
  try {
    action();
  } finally {
    Object.assign(crypto, { createCipheriv });
    syncBuiltinESMExports();
  }
  return [...used].map((one) => one());
}

function watch(
  cipher: CipherGCM,
  key: KeyObject | Uint8Array,
  nonce: string,
  used: Set<() => UsedNonce>,
): void {
  const plaintext = createHash('sha256');
  const associated = createHash('sha256');
  let encrypts = false;
  const describeUse = (): UsedNonce => ({
    key: short(key instanceof KeyObject ? key.export() : key),
    nonce,
    content: `${plaintext.digest('hex')} ${associated.digest('hex')}`,
    encrypts,
  });
  const update = cipher.update.bind(cipher) as unknown as (bytes: Uint8Array) => Buffer;
  const setAAD = cipher.setAAD.bind(cipher);
  const final = cipher.final.bind(cipher) as unknown as () => Buffer;
  const watched = {
    update: (bytes: Uint8Array): Buffer => {
      encrypts = true;
      used.add(describeUse);
      plaintext.update(bytes);
      return update(bytes);
    },
    setAAD: (bytes: Uint8Array): CipherGCM => {
      associated.update(bytes);
      return setAAD(bytes);
    },
    final: (): Buffer => {
      used.add(describeUse);
      return final();
    },
  };
  Object.assign(cipher, watched);
}

/** Pairs of key and nonce that were used for different contents. */
export function repeatedNonces(used: readonly UsedNonce[]): string[] {
  const known = new Map<string, string>();
  return used.flatMap(({ key, nonce, content }) => {
    const pair = `${key} ${nonce}`;
    const first = known.get(pair) ?? content;
    known.set(pair, first);
    return first === content ? [] : [pair];
  });
}
