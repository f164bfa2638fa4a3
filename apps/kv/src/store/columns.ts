type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array;

/**
 * An array of that length with the content of the former one, as far as it goes. Its memory is shared memory, although one thread only
 * has it: V8 does not count that. With each 64 MB that it counts, the garbage collector marks all keys of the server.
 */
export function resized<T extends Column>(array: T, length: number): T {
  const type = array.constructor as new (buffer: SharedArrayBuffer) => T;
  const made = new type(new SharedArrayBuffer(length * array.BYTES_PER_ELEMENT));
  made.set(array.subarray(0, length));
  return made;
}
