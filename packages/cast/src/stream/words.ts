/** 64-bit integers as safe integers, without BigInt because every record has some. */

const TWO_32 = 2 ** 32;

export function writeUnsigned64(bytes: Buffer, at: number, value: number): void {
  bytes.writeUInt32LE(value % TWO_32, at);
  bytes.writeUInt32LE(Math.floor(value / TWO_32), at + 4);
}

/** Undefined where it is beyond the safe integers. */
export function readUnsigned64(bytes: Buffer, at: number): number | undefined {
  const value = bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * TWO_32;
  return value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

export function writeSigned64(bytes: Buffer, at: number, value: number): void {
  const high = Math.floor(value / TWO_32);
  bytes.writeUInt32LE(value - high * TWO_32, at);
  bytes.writeInt32LE(high, at + 4);
}

/** Undefined where it is beyond the safe integers. */
export function readSigned64(bytes: Buffer, at: number): number | undefined {
  const value = bytes.readUInt32LE(at) + bytes.readInt32LE(at + 4) * TWO_32;
  return Number.isSafeInteger(value) ? value : undefined;
}
