import { CastError } from './errors.js';
import type { FileSurvey } from './file-survey.js';

/** What `castFiles` would send, without sending it. */
export async function surveyFiles(
  _paths: readonly (string | Uint8Array)[],
  _options: { readonly signal?: AbortSignal } = {},
): Promise<FileSurvey> {
  throw new CastError('ERR_RDMC_NOT_FOUND', 'No such file');
}
