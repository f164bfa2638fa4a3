import type { AfterCast, ArrivedCast } from '../arrived-cast.js';
import type { Invitation } from '../control/frames.js';
import { CastError, toCastError } from '../errors.js';
import type { StoredReport } from '../writer/stored-report.js';

/** @throws CastError ERR_RDMC_SEVERAL_FILES where a cast is not one file or one stream */
export function checkOneFile({
  files,
  directories,
  links,
}: {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
}): void {
  if (files === 1 && directories === 0 && links === 0) return;
  const found = `${files} files, ${directories} directories and ${links} links`;
  const message = `this receiver takes casts of one file or one stream; this one has ${found}`;
  throw new CastError('ERR_RDMC_SEVERAL_FILES', message);
}

/**
 * Runs the application's function after a cast. It does not run after a cast that is incomplete, or after a dry run.
 * @throws CastError with the code of the application's error, or ERR_RDMC_AFTER_CAST_FAILED
 */
export async function runAfterCast(
  afterCast: AfterCast | undefined,
  { comparison }: Invitation,
  facts: Pick<ArrivedCast, 'castId' | 'from'>,
  stored: Pick<StoredReport, 'names' | 'files' | 'bytes' | 'unchangedFiles' | 'removed' | 'problemCount'>,
  signal: AbortSignal,
): Promise<void> {
  if (!afterCast || stored.problemCount > 0 || comparison?.dryRun) return;
  const { castId, from } = facts;
  const { names, files, bytes, unchangedFiles, removed } = stored;
  try {
    signal.throwIfAborted();
    await afterCast({ castId, from, names, files, bytes, unchangedFiles, removed }, signal);
  } catch (error) {
    throw toCastError(error, 'ERR_RDMC_AFTER_CAST_FAILED');
  }
}
