import { thrown } from '@rdmc/testing';
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

const { booleanOption, choiceOption, integerOption, onlyKnownOptions, signalOption, textOption } =
  optionChecks((code, message) => new SomeError(code, message));

describe('what is right passes', () => {
  it('as it was given', () => {
    const { signal } = new AbortController();
    onlyKnownOptions('call', { a: 1 }, ['a', 'b']);
    expect(integerOption('call', 'a', 3, 3, 3)).toBe(3);
    expect(choiceOption('call', 'a', 'x', ['x', 'y'])).toBe('x');
    expect(signalOption('call', signal)).toBe(signal);
    expect(signalOption('call', undefined)).toBeUndefined();
    expect(textOption('call', 'a', 'ä', 2)).toBe('ä');
    expect(booleanOption('call', 'a', false)).toBe(false);
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
      'call: needs an object of options, not null',
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
    ...[
      ['', " of 1 to 2 bytes, not ''"],
      ['äb', " of 1 to 2 bytes, not 'äb'"],
      [5, ' of 1 to 2 bytes, not 5'],
    ].map(([value, words]): [string, () => unknown, OptionErrorCode, string] => [
      `the text ${String(value)}`,
      () => textOption('call', 'name', value, 2),
      'ERR_RDMC_INVALID_OPTION',
      `call: name must be text${words}`,
    ]),
    [
      'text with a zero byte',
      () => textOption('call', 'name', 'a\0b'),
      'ERR_RDMC_INVALID_OPTION',
      "call: name must be text, not 'a\0b'",
    ],
    [
      'neither true nor false',
      () => booleanOption('call', 'once', 1),
      'ERR_RDMC_INVALID_OPTION',
      'call: once must be true or false, not 1',
    ],
    [
      'another thing than a signal',
      () => signalOption('call', {}),
      'ERR_RDMC_INVALID_OPTION',
      'call: signal must be an AbortSignal',
    ],
  ])('%s', (_, check, code, message) => {
    const error = thrown<SomeError>(check);
    expect(error).toBeInstanceOf(SomeError);
    expect(error).toMatchObject({ code, message });
  });
});
