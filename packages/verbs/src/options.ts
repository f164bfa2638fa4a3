import { optionChecks } from '@rdmc/common';
import { VerbsError } from './errors.js';

/** They throw VerbsError. */
export const { booleanOption, choiceOption, integerOption, onlyKnownOptions } = optionChecks(
  (code, message) => new VerbsError(code, message),
);
