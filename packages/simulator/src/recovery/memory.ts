import { type RecoverySetting, segmentsOf } from './options.js';

/** Bytes. Chosen so that the estimate is rather too large. */
const FIXED = 32 * 2 ** 20;
const PER_PART_OF_A_SEGMENT = 4096;

/** Bytes that this recovery needs, as an estimate that is rather too large: each heir gets a part of each segment. */
export function recoveryBytes(setting: RecoverySetting): number {
  return FIXED + segmentsOf(setting) * setting.heirs * PER_PART_OF_A_SEGMENT;
}
