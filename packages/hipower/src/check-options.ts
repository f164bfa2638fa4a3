import { optionChecks } from '@rdmc/common';
import { HiPowerError } from './errors.js';

/** They throw HiPowerError. */
export const { booleanOption, choiceOption, integerOption, onlyKnownOptions, signalOption, textOption } =
  optionChecks((code, message) => new HiPowerError(code, message));
