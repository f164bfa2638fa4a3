/**
 * Test data that identifies the origin of a byte. Byte p of stream `seed` is
 * `TEMPLATE[(seed * STRIDE + p) mod PERIOD]`: a long random template with a prime period, so that a block
 * placed elsewhere, twice or not at all does not match, and that filling and comparing are plain copies.
 */
const PERIOD = 1_048_573;
const STRIDE = 7_919;

function makeTemplate(): Uint8Array {
  const template = new Uint8Array(PERIOD);
  let state = 0x2545_f491;
  for (let i = 0; i < PERIOD; i += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    template[i] = state >>> 11;
  }
  return template;
}
const TEMPLATE = makeTemplate();

export interface Mismatch {
  readonly at: number;
  readonly found: number;
  readonly expected: number;
}

function* pieces(seed: number, from: number, length: number): Generator<[number, Uint8Array]> {
  let at = 0;
  while (at < length) {
    const start = (seed * STRIDE + from + at) % PERIOD;
    const count = Math.min(length - at, PERIOD - start);
    yield [at, TEMPLATE.subarray(start, start + count)];
    at += count;
  }
}

/** Writes bytes `from`, `from + 1`, ... of stream `seed` into `view`. */
export function fillPattern(view: Uint8Array, seed: number, from = 0): void {
  for (const [at, piece] of pieces(seed, from, view.byteLength)) view.set(piece, at);
}

/** The first byte of `view` that differs from the stream, or null. */
export function findMismatch(view: Uint8Array, seed: number, from = 0): Mismatch | null {
  for (const [at, piece] of pieces(seed, from, view.byteLength)) {
    const part = view.subarray(at, at + piece.byteLength);
    if (Buffer.compare(part, piece) === 0) continue;
    const i = part.findIndex((byte, index) => byte !== piece[index]);
    // A byte that changed since the comparison is a mismatch too: report the piece's start.
    const where = Math.max(i, 0);
    return { at: at + where, found: part[where]!, expected: piece[where]! };
  }
  return null;
}
