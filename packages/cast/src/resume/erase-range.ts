import { readSync, writeSync } from 'node:fs';
import { CHUNK_BYTES } from '../constants.js';

const ZEROS = Buffer.alloc(CHUNK_BYTES);
let scratch: Buffer | undefined;

/**
 * Makes a range of a file read as zeros; writes only where it does not, so that holes stay holes.
 * @param file descriptor of a file that is open for reading and writing
 * @param active called after each piece
 * @throws errors of the system
 */
export function eraseRange(file: number, start: number, end: number, active: () => void): void {
  scratch ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
  for (let at = start; at < end; ) {
    const bytes = readSync(file, scratch, 0, Math.min(CHUNK_BYTES, end - at), at);
    // The file ends here: what follows is a hole.
    if (bytes === 0) return;
    const piece = scratch.subarray(0, bytes);
    if (Buffer.compare(piece, ZEROS.subarray(0, bytes)) !== 0) {
      for (let done = 0; done < bytes; ) done += writeSync(file, ZEROS, done, bytes - done, at + done);
    }
    at += bytes;
    active();
  }
}
