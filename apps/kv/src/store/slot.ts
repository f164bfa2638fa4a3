import { SLOTS } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';

const [OPEN, CLOSE] = [123, 125] as const;

/** CRC-16/XMODEM, which Redis Cluster spreads keys by. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0);
  return crc & 0xffff;
});

/**
 * The hash slot of a key, 0 to 16383. Where the key has a part in braces, only that counts, so that keys can be made to
 * lie together (Redis Cluster specification, hash tags).
 */
export function slotOf(bytes: Uint8Array, start: number, end: number): number {
  let [from, to] = [start, end];
  for (let at = start; at < end; at += 1) {
    if (bytes[at] !== OPEN) continue;
    let close = at + 1;
    while (close < end && bytes[close] !== CLOSE) close += 1;
    if (close < end && close > at + 1) [from, to] = [at + 1, close];
    break;
  }
  let crc = 0;
  for (let at = from; at < to; at += 1) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ bytes[at]!]!;
  return crc & (SLOTS - 1);
}

/** The same of a key with a character per byte. */
export function slotOfText(key: string): number {
  let [from, to] = [0, key.length];
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  if (close > open + 1) [from, to] = [open + 1, close];
  let crc = 0;
  for (let at = from; at < to; at += 1) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ key.charCodeAt(at)]!;
  return crc & (SLOTS - 1);
}

/** The slot of a command's key; that of the first one is remembered, for it is asked for at every step of its way. */
export function slotOfKey(args: Arguments, index: number): number {
  if (index !== 1) return slotOf(args.buffer, args.starts[index]!, args.ends[index]!);
  if (args.firstSlot < 0) args.firstSlot = slotOf(args.buffer, args.starts[1]!, args.ends[1]!);
  return args.firstSlot;
}
