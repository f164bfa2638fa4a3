import { onAbort, throwIfAborted } from '@rdmc/common';
import type { FileSurvey } from './file-survey.js';
import { onlyKnownOptions, signalOption } from './options.js';
import { checkPaths } from './paths-option.js';
import { ReaderThread } from './sender/reader-thread.js';

/**
 * Counts what `castFiles` would send, without sending it.
 * @throws CastError ERR_RDMC_NOT_FOUND, ERR_RDMC_UNREADABLE, ERR_RDMC_DUPLICATE_NAME, ERR_RDMC_INVALID_OPTION,
 *   ERR_RDMC_UNKNOWN_OPTION; AbortError
 */
export async function surveyFiles(
  paths: readonly (string | Uint8Array)[],
  options: { readonly signal?: AbortSignal } = {},
): Promise<FileSurvey> {
  onlyKnownOptions('surveyFiles', options, ['signal']);
  const signal = signalOption('surveyFiles', options.signal);
  const checked = checkPaths(paths);
  throwIfAborted('the survey', signal);
  const reader = new ReaderThread();
  const forget = onAbort(signal, () => void reader.end());
  try {
    return await reader.survey(checked);
  } catch (error) {
    throwIfAborted('the survey', signal);
    throw error;
  } finally {
    forget();
    await reader.end();
  }
}
