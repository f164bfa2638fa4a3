import type { CastOptions } from './cast-options.js';
import { DEFAULT_JOIN_WINDOW_MS, MAX_TIMER_MS } from './constants.js';
import { invalidOption } from './errors.js';
import { booleanOption, integerOption } from './options.js';

const WHERE = 'castFiles';

/** Options that a gathering cast does not have, with the values that it accepts. */
const FIXED: Partial<CastOptions> = {
  algorithm: 'binomial-pipeline',
  rack: undefined,
  blockBytes: 'auto',
  messageBytes: undefined,
  wholeFiles: false,
  update: false,
  existing: false,
  delete: false,
  dryRun: false,
  archive: false,
  compress: false,
  trafficClass: 0,
  serviceLevel: 0,
  trace: undefined,
};

/** How a cast waits for receivers that begin at different times. */
export interface GatheringOptions {
  /** Receivers that must have answered before anything is sent. */
  readonly waitFor: number;
  readonly joinWindowMs: number;
  readonly resume: boolean;
}

/**
 * @param receivers their number
 * @throws CastError ERR_RDMC_INVALID_OPTION
 */
export function checkGathering(options: CastOptions, receivers: number): GatheringOptions | undefined {
  const { waitFor, joinWindowMs } = options;
  if (waitFor === undefined && joinWindowMs === undefined) return undefined;
  for (const [name, fixed] of Object.entries(FIXED)) {
    const value = options[name as keyof CastOptions];
    if (value === undefined || value === fixed) continue;
    throw invalidOption(`${WHERE}: ${name} is not possible with waitFor and joinWindowMs`);
  }
  return {
    waitFor: integerOption(WHERE, 'waitFor', waitFor ?? 1, 1, receivers),
    joinWindowMs: integerOption(
      WHERE,
      'joinWindowMs',
      joinWindowMs ?? DEFAULT_JOIN_WINDOW_MS,
      0,
      MAX_TIMER_MS,
    ),
    resume: booleanOption(WHERE, 'resume', options.resume ?? true),
  };
}
