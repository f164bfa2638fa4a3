import { onAbort, throwIfAborted } from '@rdmc/common';
import type { CastOptions } from './cast-options.js';
import { checkFilters } from './checked-selection.js';
import type { FileSurvey } from './file-survey.js';
import { onlyKnownOptions, signalOption } from './options.js';
import { checkPaths } from './paths-option.js';
import { ReaderThread } from './sender/reader-thread.js';

/** What `castFiles` would send: its options of the same names. */
export type SurveyOptions = Pick<CastOptions, 'filters' | 'only' | 'signal'>;

/**
 * Counts what `castFiles` would send to a receiver that has nothing, without sending it.
 * @throws CastError ERR_RDMC_NOT_FOUND, ERR_RDMC_UNREADABLE, ERR_RDMC_DUPLICATE_NAME, ERR_RDMC_INVALID_OPTION,
 *   ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_PATTERN, ERR_RDMC_UNSAFE_PATH; AbortError
 */
export async function surveyFiles(
  paths: readonly (string | Uint8Array)[],
  options: SurveyOptions = {},
): Promise<FileSurvey> {
  onlyKnownOptions('surveyFiles', options, ['filters', 'only', 'signal']);
  const signal = signalOption('surveyFiles', options.signal);
  const rules = checkFilters(options.filters);
  const listed = options.only === undefined ? undefined : checkPaths(options.only);
  const checked = checkPaths(paths);
  throwIfAborted('the survey', signal);
  const reader = new ReaderThread();
  const forget = onAbort(signal, () => void reader.end());
  try {
    await reader.beginSurvey({ paths: checked, rules, listed });
    return await reader.finishSurvey();
  } catch (error) {
    throwIfAborted('the survey', signal);
    throw error;
  } finally {
    forget();
    await reader.end();
  }
}
