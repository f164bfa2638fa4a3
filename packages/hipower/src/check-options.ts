import { optionChecks } from '@rdmc/common';
import { HiPowerError } from './errors.js';

/** They throw HiPowerError. */
export const { choiceOption, integerOption, onlyKnownOptions, signalOption } = optionChecks(
  (code, message) => new HiPowerError(code, message),
);
