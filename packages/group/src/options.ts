import { optionChecks } from '@rdmc/common';
import { GroupError } from './errors.js';

/** Checks of options; they throw GroupError. */
export const { booleanOption, choiceOption, integerOption, onlyKnownOptions, signalOption } = optionChecks(
  (code, message) => new GroupError(code, message),
);
