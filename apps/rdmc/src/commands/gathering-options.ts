import type { Command } from 'commander';
import * as z from 'zod';
import { usageError } from '../errors.js';
import { duration, wholeNumber } from '../values.js';

const HOUR_MS = 3_600_000;
const MOST_RECEIVERS = 4095;

/** The options of `cast` for receivers that start at different times. */
export const gatheringOptions = {
  waitFor: wholeNumber(1, MOST_RECEIVERS).optional(),
  joinWindow: duration(1, 24 * HOUR_MS).optional(),
};
const schema = z.strictObject(gatheringOptions);

/** Those, and the options that they exclude. */
interface Given extends z.output<typeof schema> {
  readonly ssh: boolean;
  readonly algorithm: string;
  readonly rack?: string | undefined;
  readonly blockSize: 'auto' | number;
  readonly messageSize?: number | undefined;
  readonly update: boolean;
  readonly existing: boolean;
  readonly wholeFile: boolean;
  readonly delete: boolean;
  readonly dryRun: boolean;
  readonly archive: boolean;
  readonly compress: boolean;
  readonly trafficClass: number;
  readonly serviceLevel: number;
  readonly trace?: string | undefined;
}

/** When a cast begins, and how long receivers that do not answer are called. */
export interface Gathering {
  readonly waitFor: number | undefined;
  readonly joinWindowMs: number | undefined;
}

/**
 * @param receivers their number
 * @throws CliError ERR_RDMC_USAGE where other options contradict them
 */
export function gatheringOf(given: Given, receivers: number): Gathering {
  const { waitFor, joinWindow: joinWindowMs } = given;
  if (waitFor === undefined && joinWindowMs === undefined) return { waitFor, joinWindowMs };
  if (given.ssh)
    throw usageError('--ssh starts all receivers at once', 'remove --wait-for and --join-window, or --ssh');
  if (waitFor !== undefined && waitFor > receivers)
    throw usageError(`--wait-for ${waitFor}: the receivers are ${receivers}`, 'lower it, or name more');
  const impossible = Object.entries({
    [`--algorithm ${given.algorithm}`]: !['auto', 'binomial-pipeline'].includes(given.algorithm),
    '--rack': given.rack !== undefined,
    '--block-size': given.blockSize !== 'auto',
    '--message-size': given.messageSize !== undefined,
    '--update': given.update,
    '--existing': given.existing,
    '--whole-file': given.wholeFile,
    '--delete': given.delete,
    '--dry-run': given.dryRun,
    '--archive': given.archive,
    '--compress': given.compress,
    '--traffic-class': given.trafficClass > 0,
    '--service-level': given.serviceLevel > 0,
    '--trace': given.trace !== undefined,
  }).find(([, isGiven]) => isGiven);
  if (impossible) {
    const advice = 'remove it, or cast without --wait-for and --join-window when all receivers run';
    throw usageError(`${impossible[0]} is not possible with --wait-for and --join-window`, advice);
  }
  return { waitFor, joinWindowMs };
}

export function addGatheringOptions(command: Command): Command {
  return command
    .option('--wait-for <count>', 'begin when so many receivers have answered; others may join while it runs')
    .option(
      '--join-window <time>',
      'call receivers that do not answer for this long (default with --wait-for: 1min)',
    );
}
