import { readSync } from 'node:fs';

/** Fills `target` from `offset` of a file on. Returns false where the file is too short. @throws errors of the system */
export function readFully(descriptor: number, target: Buffer, offset: number): boolean {
  for (let done = 0; done < target.length; ) {
    const bytes = readSync(descriptor, target, done, target.length - done, offset + done);
    if (bytes === 0) return false;
    done += bytes;
  }
  return true;
}
