import { createHash } from 'node:crypto';

/** SHA-256 of the list of entries as it is sent, for the root hash. */
export function digestOf(manifest: readonly { readonly data: string }[]): Buffer {
  const digest = createHash('sha256');
  for (const { data } of manifest) digest.update(Buffer.from(data, 'base64'));
  return digest.digest();
}
