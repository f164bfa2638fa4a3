import { statfsSync } from 'node:fs';
import { invalidOption } from '../errors.js';

/** How much interrupted casts may leave in a receiving directory: bytes, or a share of its file system. */
export type ResumeLimit = { readonly bytes: number } | { readonly share: number };

const PERCENT = /^(\d{1,3}(?:\.\d{1,3})?)%$/;

/** @throws CastError ERR_RDMC_INVALID_OPTION where it is neither bytes nor a text such as '25%' */
export function checkResumeLimit(where: string, value: unknown): ResumeLimit {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return { bytes: value };
  const percent = typeof value === 'string' ? Number(PERCENT.exec(value)?.[1]) : Number.NaN;
  if (percent <= 100) return { share: percent / 100 };
  throw invalidOption(`${where}: resumeLimit: needed bytes, or a share of the disk such as '25%'`);
}

/** Bytes that casts may leave in a directory. @param root its descriptor */
export function limitBytes(limit: ResumeLimit, root: number): number {
  if ('bytes' in limit) return limit.bytes;
  const { blocks, bsize } = statfsSync(`/proc/self/fd/${root}`);
  return blocks * bsize * limit.share;
}
