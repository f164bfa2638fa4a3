import { optionChecks } from '@rdmc/common';
import { VerbsError } from './errors.js';

/** They throw VerbsError. */
export const { integerOption, onlyKnownOptions } = optionChecks(
  (code, message) => new VerbsError(code, message),
);
