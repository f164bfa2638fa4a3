import type { OptionErrorCode } from './option-errors.js';

/** Checks of the options that a caller gave; `where` is the call they were given to. */
export interface OptionChecks {
  /** A misspelt option must not pass silently. @throws ERR_RDMC_UNKNOWN_OPTION; ERR_RDMC_INVALID_OPTION: no object */
  onlyKnownOptions(where: string, options: unknown, known: readonly string[]): void;
  /** A whole number from `least` to `most`. @throws ERR_RDMC_INVALID_OPTION */
  integerOption(where: string, name: string, value: unknown, least: number, most: number): number;
  /** One of some values. @throws ERR_RDMC_INVALID_OPTION */
  choiceOption<T extends string>(where: string, name: string, value: unknown, choices: readonly T[]): T;
  /** An AbortSignal, or none. @throws ERR_RDMC_INVALID_OPTION */
  signalOption(where: string, value: unknown): AbortSignal | undefined;
}

/** The checks of a package, which throws errors of its own class. */
export function optionChecks(makeError: (code: OptionErrorCode, message: string) => Error): OptionChecks {
  const invalid = (message: string): Error => makeError('ERR_RDMC_INVALID_OPTION', message);
  return {
    onlyKnownOptions(where, options, known) {
      if (typeof options !== 'object' || options === null)
        throw invalid(`${where}: needs an object of options`);
      const stranger = Object.keys(options).find((name) => !known.includes(name));
      if (stranger === undefined) return;
      throw makeError(
        'ERR_RDMC_UNKNOWN_OPTION',
        `${where}: unknown option '${stranger}'; known are ${known.join(', ')}`,
      );
    },

    integerOption(where, name, value, least, most) {
      const number = value as number;
      if (Number.isSafeInteger(value) && number >= least && number <= most) return number;
      throw invalid(
        `${where}: ${name} must be a whole number from ${least} to ${most}, not ${String(value)}`,
      );
    },

    choiceOption<T extends string>(where: string, name: string, value: unknown, choices: readonly T[]) {
      if (choices.includes(value as T)) return value as T;
      throw invalid(`${where}: ${name} must be ${choices.join(' or ')}, not ${String(value)}`);
    },

    signalOption(where, value) {
      if (value === undefined || value instanceof AbortSignal) return value;
      throw invalid(`${where}: signal must be an AbortSignal`);
    },
  };
}
