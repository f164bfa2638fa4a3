import { optionChecks } from '@rdmc/common';
import { TailwindError } from './errors.js';

export type { Logger } from '@rdmc/common';

/** They throw TailwindError. */
export const { choiceOption, integerOption, onlyKnownOptions, textOption } = optionChecks(
  (code, message) => new TailwindError(code, message),
);
