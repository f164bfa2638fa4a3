import { VerbsError } from './errors.js';

/**
 * Refuses options nobody reads: a misspelt name must not pass silently.
 * @throws VerbsError ERR_RDMC_UNKNOWN_OPTION
 */
export function onlyKnownOptions(where: string, options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new VerbsError(
        'ERR_RDMC_UNKNOWN_OPTION',
        `${where}: unknown option '${name}'; known are ${known.join(', ')}`,
      );
    }
  }
}

/**
 * Checks a whole number within a range.
 * @throws VerbsError ERR_RDMC_INVALID_OPTION
 */
export function integerOption(where: string, name: string, value: unknown, min: number, max: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
    throw new VerbsError(
      'ERR_RDMC_INVALID_OPTION',
      `${where}: ${name} must be a whole number from ${min} to ${max}, not ${String(value)}`,
    );
  }
  return value as number;
}
