import { usageError } from '../errors.js';
import { type KeyUse, parseKey } from './key.js';
import { readKeyFile } from './key-file.js';

export interface KeyOptions {
  readonly keyFile?: string | undefined;
  readonly keyStdin: boolean;
}

/** Reads the first line of standard input. */
export type ReadLine = () => Promise<string>;

/**
 * The key of this run: from the file or standard input where an option says so, else from `RDMC_KEY`; else undefined.
 * @param use whether a key for fetching is enough
 * @param signal ends the wait for the writer of a key file that is a pipe
 * @throws CliError ERR_RDMC_INVALID_KEY, ERR_RDMC_WRONG_ROLE, ERR_RDMC_USAGE when both are given
 */
export async function findKey(
  { keyFile, keyStdin }: KeyOptions,
  environment: NodeJS.ProcessEnv,
  readLine: ReadLine,
  { use = 'other', signal }: { readonly use?: KeyUse; readonly signal?: AbortSignal } = {},
): Promise<Uint8Array | undefined> {
  if (keyFile !== undefined && keyStdin) {
    throw usageError('--key-file and --key-stdin exclude each other', 'remove one of them');
  }
  if (keyFile !== undefined) return readKeyFile(keyFile, use, signal);
  if (keyStdin) return parseKey(await readLine(), 'on standard input', use);
  if (environment.RDMC_KEY !== undefined) return parseKey(environment.RDMC_KEY, 'in RDMC_KEY', use);
  return undefined;
}
