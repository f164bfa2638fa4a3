import { invalidOption, TailwindError } from './errors.js';

/** Takes what pino takes; `console` does as well. */
export interface Logger {
  debug?(details: object, message: string): void;
  info?(details: object, message: string): void;
  warn?(details: object, message: string): void;
}

/** A misspelt option must not pass silently. @throws TailwindError ERR_RDMC_UNKNOWN_OPTION */
export function onlyKnownOptions(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw invalidOption(`${where}: needs an object of options`);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw new TailwindError(
      'ERR_RDMC_UNKNOWN_OPTION',
      `${where}: unknown option '${name}'; known are ${known.join(', ')}`,
    );
  }
}

/** @throws TailwindError ERR_RDMC_INVALID_OPTION */
export function integerOption(
  where: string,
  name: string,
  value: unknown,
  least: number,
  most: number,
): number {
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
    throw invalidOption(
      `${where}: ${name} must be a whole number from ${least} to ${most}, not ${String(value)}`,
    );
  }
  return value as number;
}
