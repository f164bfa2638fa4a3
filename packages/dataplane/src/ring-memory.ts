/**
 * Memory of rings whose worker has ended, for later workers of this thread: V8 frees shared memory only at its next large
 * collection, so a program that opens one data plane after the other would keep the rings of many.
 */
const free: SharedArrayBuffer[] = [];

/** Rings of two workers: one that is in use, and one that is started ahead. */
const MAX_FREE = 4;

/** Memory of a ring; what an earlier ring has written may still be in it. */
export function takeRing(byteLength: number): SharedArrayBuffer {
  const found = free.findIndex((ring) => ring.byteLength === byteLength);
  return found === -1 ? new SharedArrayBuffer(byteLength) : free.splice(found, 1)[0]!;
}

/** Neither end may use the ring afterwards. */
export function giveRing(ring: SharedArrayBuffer): void {
  if (free.length < MAX_FREE) free.push(ring);
}
