import { HiPowerError, invalidOption } from './errors.js';

/** A misspelt option must not pass silently. @throws HiPowerError ERR_RDMC_UNKNOWN_OPTION */
export function onlyKnownOptions(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw invalidOption(`${where}: needs an object of options`);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw new HiPowerError(
      'ERR_RDMC_UNKNOWN_OPTION',
      `${where}: unknown option '${name}'; known are ${known.join(', ')}`,
    );
  }
}

/** @throws HiPowerError ERR_RDMC_INVALID_OPTION */
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

/** @throws HiPowerError ERR_RDMC_INVALID_OPTION */
export function choiceOption<T extends string>(
  where: string,
  name: string,
  value: unknown,
  choices: readonly T[],
): T {
  if (choices.includes(value as T)) return value as T;
  throw invalidOption(`${where}: ${name} must be ${choices.join(' or ')}, not ${String(value)}`);
}

/** @throws HiPowerError ERR_RDMC_INVALID_OPTION */
export function signalOption(where: string, signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw invalidOption(`${where}: signal must be an AbortSignal`);
}
