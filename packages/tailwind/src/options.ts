import { optionChecks } from '@rdmc/common';
import { TailwindError } from './errors.js';

/** Takes what pino takes; `console` does as well. */
export interface Logger {
  debug?(details: object, message: string): void;
  info?(details: object, message: string): void;
  warn?(details: object, message: string): void;
}

/** They throw TailwindError. */
export const { integerOption, onlyKnownOptions } = optionChecks(
  (code, message) => new TailwindError(code, message),
);
