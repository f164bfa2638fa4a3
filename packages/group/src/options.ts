import { optionChecks } from '@rdmc/common';
import { GroupError } from './errors.js';

/** Checks of options; they throw GroupError. */
export const { choiceOption, integerOption, onlyKnownOptions, signalOption } = optionChecks(
  (code, message) => new GroupError(code, message),
);
