import type { OptionErrorCode } from './option-errors.js';
import { isWholeNumber } from './whole-number.js';

/**
 * Checks of the options that a caller gave; `where` is the call they were given to. All throw the error that the package
 * makes, with code ERR_RDMC_INVALID_OPTION unless another one is said.
 */
export interface OptionChecks {
  /** A misspelt option must not pass silently. @throws ERR_RDMC_UNKNOWN_OPTION; ERR_RDMC_INVALID_OPTION: no object */
  onlyKnownOptions(where: string, options: unknown, known: readonly string[]): void;
  /** A whole number from `least` to `most`. */
  integerOption(where: string, name: string, value: unknown, least: number, most: number): number;
  /** One of some values. */
  choiceOption<T extends string>(where: string, name: string, value: unknown, choices: readonly T[]): T;
  /** Text that is not empty, of at most `mostBytes` in UTF-8, without a zero byte: systems end names there. */
  textOption(where: string, name: string, value: unknown, mostBytes?: number): string;
  /** True or false. */
  booleanOption(where: string, name: string, value: unknown): boolean;
  /** An AbortSignal, or none. */
  signalOption(where: string, value: unknown): AbortSignal | undefined;
}

/** The checks of a package, which throws errors of its own class. */
export function optionChecks(makeError: (code: OptionErrorCode, message: string) => Error): OptionChecks {
  const invalid = (message: string): Error => makeError('ERR_RDMC_INVALID_OPTION', message);
  return {
    onlyKnownOptions(where, options, known) {
      if (typeof options !== 'object' || options === null)
        throw invalid(`${where}: needs an object of options, not ${shown(options)}`);
      const stranger = Object.keys(options).find((name) => !known.includes(name));
      if (stranger === undefined) return;
      throw makeError(
        'ERR_RDMC_UNKNOWN_OPTION',
        `${where}: unknown option '${stranger}'; known are ${known.join(', ')}`,
      );
    },

    integerOption(where, name, value, least, most) {
      if (isWholeNumber(value, least, most)) return value;
      throw invalid(
        `${where}: ${name} must be a whole number from ${least} to ${most}, not ${String(value)}`,
      );
    },

    choiceOption<T extends string>(where: string, name: string, value: unknown, choices: readonly T[]) {
      if (choices.includes(value as T)) return value as T;
      throw invalid(`${where}: ${name} must be ${choices.join(' or ')}, not ${String(value)}`);
    },

    textOption(where, name, value, mostBytes = Number.POSITIVE_INFINITY) {
      const fits = typeof value === 'string' && value !== '' && !value.includes('\0');
      if (fits && utf8Bytes(value) <= mostBytes) return value;
      const limit = mostBytes === Number.POSITIVE_INFINITY ? '' : ` of 1 to ${mostBytes} bytes`;
      throw invalid(`${where}: ${name} must be text${limit}, not ${shown(value)}`);
    },

    booleanOption(where, name, value) {
      if (typeof value === 'boolean') return value;
      throw invalid(`${where}: ${name} must be true or false, not ${String(value)}`);
    },

    signalOption(where, value) {
      if (value === undefined || value instanceof AbortSignal) return value;
      throw invalid(`${where}: signal must be an AbortSignal`);
    },
  };
}

function utf8Bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}
