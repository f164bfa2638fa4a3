/** A channel's memory as fp32 values; payloads begin at multiples of 8 bytes. */
export function floatsOf({ buffer, byteOffset, byteLength }: Uint8Array): Float32Array {
  return new Float32Array(buffer, byteOffset, byteLength / 4);
}
