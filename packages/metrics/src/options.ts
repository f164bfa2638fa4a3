import { optionChecks } from '@rdmc/common';
import { MetricsError } from './errors.js';

/** Checks of options; they throw MetricsError. */
export const { booleanOption, integerOption, onlyKnownOptions, textOption } = optionChecks(
  (code, message) => new MetricsError(code, message),
);

export function invalidOption(message: string): MetricsError {
  return new MetricsError('ERR_RDMC_INVALID_OPTION', message);
}
