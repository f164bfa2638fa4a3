import { KvError } from '../errors.js';

/** An entry of so many bytes would not fit into any append of the log. */
export function tooLarge(bytes: number, most: number): KvError {
  return new KvError(
    'ERR_RDMC_ENTRY_TOO_LARGE',
    `${bytes} bytes of keys, values and headers of the log are over the limit of ${most} ` +
      '(a quarter of a log segment); nothing was done',
  );
}
