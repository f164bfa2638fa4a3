import { makeDirectories } from '@rdmc/common';
import { fileError } from '../errors.js';

/** Makes the directory of `--mkdir`, and those above it. @throws CliError with the code of the system */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeDirectories(path);
  } catch (error) {
    throw fileError(`cannot make the directory ${path}`, error, { advice: 'give another one with --dir' });
  }
}
