import { errorTable } from './rdmc-error.js';

/** The codes that every package's errors have for options. */
export const optionErrors = errorTable({
  ERR_RDMC_INVALID_OPTION: [
    'usage',
    'an option or an argument has a wrong value',
    'the message names it, and what it may be',
  ],
  ERR_RDMC_UNKNOWN_OPTION: [
    'usage',
    'an option does not exist',
    'the message lists those that do; look for a misspelling',
  ],
});
/** The codes of wrong options. */
export type OptionErrorCode = keyof typeof optionErrors;
