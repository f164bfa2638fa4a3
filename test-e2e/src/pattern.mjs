import { createCipheriv, createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/*
 * Content that every process can compute from a number: the key stream of AES-128 in counter mode, with the seed as its key.
 * Its parts all differ, so a block in a wrong place, or of another message, is detected.
 */
const CHUNK_BYTES = 1 << 20;
const zeros = Buffer.alloc(CHUNK_BYTES);

function* chunks(seed, byteLength) {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed >>> 0, 0);
  const cipher = createCipheriv('aes-128-ctr', key, Buffer.alloc(16));
  for (let at = 0; at < byteLength; at += CHUNK_BYTES) {
    const length = Math.min(CHUNK_BYTES, byteLength - at);
    yield { at, bytes: cipher.update(length === CHUNK_BYTES ? zeros : zeros.subarray(0, length)) };
  }
}

/** Writes the content of `seed` through `put(at, bytes)`. */
export async function writePattern(seed, byteLength, put) {
  for (const { at, bytes } of chunks(seed, byteLength)) {
    put(at, bytes);
    await setImmediate();
  }
}

/**
 * Where `piece(at, length)` first differs from the content of `seed`, within a chunk; −1 where it is the same.
 * Between chunks other tasks run: a member that is busy for long does not send heartbeats.
 */
export async function findDifference(seed, byteLength, piece) {
  for (const { at, bytes } of chunks(seed, byteLength)) {
    if (bytes.compare(piece(at, bytes.length)) !== 0) return at;
    await setImmediate();
  }
  return -1;
}

/** SHA-256, in hex, of what `piece(at, length)` gives for `byteLength` bytes. */
export async function sha256Of(byteLength, piece) {
  const hash = createHash('sha256');
  for (let at = 0; at < byteLength; at += CHUNK_BYTES) {
    hash.update(piece(at, Math.min(CHUNK_BYTES, byteLength - at)));
    await setImmediate();
  }
  return hash.digest('hex');
}

/** SHA-256, in hex, of the content of `seed`. */
export function sha256OfPattern(seed, byteLength) {
  const hash = createHash('sha256');
  for (const { bytes } of chunks(seed, byteLength)) hash.update(bytes);
  return hash.digest('hex');
}
