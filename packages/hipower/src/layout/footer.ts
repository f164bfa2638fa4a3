/**
 * A slot of the pool, the same at the requester and at the responder, little endian:
 * ```
 *   0            unused
 *   …            payload, `length` bytes, starting at a multiple of 8
 *   stride - 16  u32 sequence     number of this slot's content, modulo 2^32; the order of delivery
 *   stride - 12  u32 length       bytes of payload
 *   stride -  8  u32 generation   of the connection that wrote it
 *   stride -  4  u32 remaining    bytes of the same message in the slots that follow; 0: the message ends here
 * ```
 * Payload and footer are adjacent, so that one WRITE carries both, however short the payload is:
 * it starts at `stride - 16 - length`, rounded down to a multiple of 8.
 */
export const FOOTER_BYTES = 16;
export const FooterWord = { SEQUENCE: 0, LENGTH: 1, GENERATION: 2, REMAINING: 3 } as const;

const ALIGNMENT = 8;
const CACHE_LINE = 64;

/** Bytes from one slot to the next, for payloads of up to `slotBytes`. */
export function slotStride(slotBytes: number): number {
  const whole = roundUp(slotBytes, ALIGNMENT) + FOOTER_BYTES;
  return roundUp(whole, CACHE_LINE);
}

/** Offset in the pool of a payload of that many bytes. */
export function payloadOffset(slot: number, stride: number, byteLength: number): number {
  return slot * stride + stride - FOOTER_BYTES - ((byteLength + ALIGNMENT - 1) & -ALIGNMENT);
}

/** Index of the footer's first word in an Int32Array over the pool. */
export function footerIndex(slot: number, stride: number): number {
  // Computed in words: a shift would truncate a byte offset beyond 2 GiB.
  return slot * (stride >>> 2) + ((stride - FOOTER_BYTES) >>> 2);
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
