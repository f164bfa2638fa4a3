import { invalidOption } from '../errors.js';
import { integerOption } from '../options.js';
import { crc32 } from './crc32.js';
import { SEED_BYTES, type SegmentIdentity, writeU32, writeU64 } from './layout.js';

const MAX_U64 = 0xffff_ffff_ffff_ffffn;
export const MAX_U32 = 0xffff_ffff;

export function u64Option(name: string, value: unknown): bigint {
  if (typeof value === 'bigint' && value >= 0n && value <= MAX_U64) return value;
  throw invalidOption(`${name} must be a bigint from 0 to 2^64 - 1, not ${String(value)}`);
}

/** The CRC of a segment's seed: the initial value of its running CRC. @throws TailwindError ERR_RDMC_INVALID_OPTION */
export function seedCrc({ logId, segmentId, incarnation }: SegmentIdentity): number {
  const seed = new Uint8Array(SEED_BYTES);
  writeU64(seed, 0, u64Option('logId', logId));
  writeU64(seed, 8, u64Option('segmentId', segmentId));
  writeU32(seed, 16, integerOption('segment', 'incarnation', incarnation, 0, MAX_U32));
  return crc32(seed, 0, SEED_BYTES, 0);
}
