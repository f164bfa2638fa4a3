import { setTimeout as delay } from 'node:timers/promises';
import { BACKUP_RETRY_MS } from '../constants.js';
import { codeOf, messageOf, TailwindError } from '../errors.js';
import type { SegmentRef } from '../segment-key.js';
import type { LogEnvironment } from './log-environment.js';
import { throwIfFenced } from './replica-grants.js';

/** Permanent refusals of the coordinator; the request is not repeated. */
const FINAL_REFUSALS = ['ERR_RDMC_NOT_OWNER', 'ERR_RDMC_LOG_UNKNOWN'];

/**
 * Has the coordinator record a segment's epoch after a replacement. Repeats the request until it is answered: before
 * that, nothing may be acknowledged, and new appends are refused.
 * @throws the coordinator's refusal, or the reason for which the log ended
 */
export async function raiseMinimum(
  environment: LogEnvironment,
  identity: SegmentRef,
  epoch: number,
): Promise<void> {
  const { options, ended, refuse } = environment;
  const minimum = { segmentId: identity.segmentId, epoch };
  for (;;) {
    try {
      await options.authority.raiseMinimum(identity, minimum);
      refuse('raise', undefined);
      return;
    } catch (error) {
      throwIfFenced(environment, error);
      if (FINAL_REFUSALS.includes(codeOf(error) ?? '')) throw error;
      refuse('raise', silent(error));
      options.logger?.warn?.({ reason: messageOf(error) }, 'the coordinator does not answer');
      await delay(BACKUP_RETRY_MS, undefined, { signal: ended });
    }
  }
}

function silent(cause: unknown): TailwindError {
  return new TailwindError(
    'ERR_RDMC_COORDINATOR_SILENT',
    'A backup was replaced, and the coordinator does not answer: until it does, nothing can be acknowledged ' +
      `(${messageOf(cause)})`,
    { cause },
  );
}
