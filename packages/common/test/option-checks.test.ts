import { describe, expect, it } from 'vitest';
import { type OptionErrorCode, optionChecks } from '../src/index.js';

class SomeError extends Error {
  constructor(
    readonly code: OptionErrorCode,
    message: string,
  ) {
    super(message);
  }
}

const { choiceOption, integerOption, onlyKnownOptions, signalOption } = optionChecks(
  (code, message) => new SomeError(code, message),
);

function thrownBy(check: () => unknown): SomeError {
  try {
    check();
  } catch (error) {
    return error as SomeError;
  }
  throw new Error('nothing was thrown');
}

describe('what is right passes', () => {
  it('as it was given', () => {
    const { signal } = new AbortController();
    onlyKnownOptions('call', { a: 1 }, ['a', 'b']);
    expect(integerOption('call', 'a', 3, 3, 3)).toBe(3);
    expect(choiceOption('call', 'a', 'x', ['x', 'y'])).toBe('x');
    expect(signalOption('call', signal)).toBe(signal);
    expect(signalOption('call', undefined)).toBeUndefined();
  });
});

describe('what is wrong is refused in words', () => {
  it.each<[string, () => unknown, OptionErrorCode, string]>([
    [
      'a misspelt option',
      () => onlyKnownOptions('call', { lenght: 1 }, ['length', 'depth']),
      'ERR_RDMC_UNKNOWN_OPTION',
      "call: unknown option 'lenght'; known are length, depth",
    ],
    [
      'no options at all',
      () => onlyKnownOptions('call', null, []),
      'ERR_RDMC_INVALID_OPTION',
      'call: needs an object of options',
    ],
    ...[4, -1, 1.5, Number.NaN, '2', 2 ** 53].map(
      (value): [string, () => unknown, OptionErrorCode, string] => [
        `the number ${String(value)}`,
        () => integerOption('call', 'n', value, 0, 3),
        'ERR_RDMC_INVALID_OPTION',
        `call: n must be a whole number from 0 to 3, not ${String(value)}`,
      ],
    ),
    [
      'none of the choices',
      () => choiceOption('call', 'mode', 'z', ['x', 'y']),
      'ERR_RDMC_INVALID_OPTION',
      'call: mode must be x or y, not z',
    ],
    [
      'another thing than a signal',
      () => signalOption('call', {}),
      'ERR_RDMC_INVALID_OPTION',
      'call: signal must be an AbortSignal',
    ],
  ])('%s', (_, check, code, message) => {
    const error = thrownBy(check);
    expect(error).toBeInstanceOf(SomeError);
    expect(error).toMatchObject({ code, message });
  });
});
