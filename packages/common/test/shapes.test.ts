import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  choice,
  dictionary,
  either,
  finite,
  flag,
  list,
  mapped,
  nullable,
  opaqueRecord,
  openRecord,
  optional,
  pattern,
  readShape,
  record,
  type Shape,
  type Shaped,
  ShapeError,
  shapeErrors,
  text,
  tryShape,
  tuple,
  uuid,
  variants,
  whole,
  withDefault,
} from '../src/shapes.js';

const u64 = mapped(pattern(/^\d{1,20}$/), (digits) => {
  const value = BigInt(digits);
  if (value >= 2n ** 64n) throw new Error('needed less than 2^64');
  return value;
});

const news = variants('type', {
  lost: { member: whole(0, 99), reason: optional(text(5)) },
  log: { id: u64, size: either(choice(['auto']), whole(1)), next: nullable(whole()) },
  pulse: {},
});
type News = Shaped<typeof news>;

it('reads what fits, with the types that follow from the shape', () => {
  expect(readShape(news, { type: 'lost', member: 3 })).toEqual({ type: 'lost', member: 3 });
  expect(readShape(news, { type: 'log', id: '17', size: 'auto', next: null })).toEqual({
    type: 'log',
    id: 17n,
    size: 'auto',
    next: null,
  });
  expectTypeOf<Extract<News, { type: 'lost' }>>().toEqualTypeOf<{
    type: 'lost';
    member: number;
    reason?: string | undefined;
  }>();
  expectTypeOf<Extract<News, { type: 'log' }>>().toEqualTypeOf<{
    type: 'log';
    id: bigint;
    size: number | 'auto';
    next: number | null;
  }>();
});

it('fills in what may be missing, and leaves later fields out, or keeps them, where that is wanted', () => {
  const shape = openRecord({ a: withDefault(flag, true), b: optional(whole()) });
  expect(readShape(shape, { c: 1 })).toEqual({ a: true });
  const open = variants('op', { a: { b: flag } }, openRecord);
  expect(readShape(open, { op: 'a', b: true, c: 1 })).toEqual({ op: 'a', b: true });
  const address = { kind: 'x', port: 1 };
  expect(readShape(opaqueRecord({ kind: text() }), address)).toBe(address);
  expect(tryShape(opaqueRecord({ port: text() }), address)).toBeUndefined();
  expect(readShape(record({ b: optional(whole()) }), {})).toStrictEqual({});
  expect(readShape(dictionary(tuple(whole(), text())), { x: [1, 'y'] })).toEqual({ x: [1, 'y'] });
});

describe('refuses, and says where and what was needed', () => {
  it.each<[string, Shape<unknown>, unknown, string]>([
    ['a number out of range', whole(1, 5), 6, 'needed a whole number from 1 to 5'],
    ['a fraction', whole(), 1.5, 'needed a whole number from 0 to 9007199254740991'],
    ['a number in text', whole(), '1', 'needed a whole number from 0 to 9007199254740991'],
    ['no number', finite(), Number.NaN, 'needed a number'],
    ['a number below the least', finite(0), -1, 'needed a number from 0'],
    ['text that is too long', text(2), 'abc', 'needed text of at most 2 characters'],
    ['text of another form', uuid, 'x', 'needed a UUID'],
    ['neither true nor false', flag, 1, 'needed true or false'],
    ['another choice', choice(['a', 'b']), 'c', 'needed a or b'],
    ['too few items', list(whole(), 2), [1], 'needed a list of 2 to Infinity items'],
    ['too many items', list(whole(), 0, 1), [1, 2], 'needed a list of 0 to 1 items'],
    ['what is no list', list(whole()), { length: 0 }, 'needed a list of 0 to Infinity items'],
    ['an item', list(whole()), [1, 'x'], '1: needed a whole number from 0 to 9007199254740991'],
    ['a tuple of another length', tuple(whole(), whole()), [1], 'needed a list of 2 items'],
    ['no object', record({}), null, 'needed an object'],
    ['a list for an object', record({}), [], 'needed an object'],
    ['a field too many', record({ a: whole() }), { a: 1, b: 2 }, "there is no field 'b'"],
    ['a missing field', record({ a: record({ b: flag }) }), { a: {} }, 'a.b: needed true or false'],
    ['an inherited field', record({ constructor: flag }), {}, 'constructor: needed true or false'],
    ['what cannot be made', u64, '18446744073709551616', 'needed less than 2^64'],
    ['no kind', news, { type: 'toString' }, 'type: needed lost or log or pulse'],
    ['a kind with a strange field', news, { type: 'pulse', member: 1 }, "there is no field 'member'"],
    [
      'neither of two',
      either(choice(['auto']), whole(1)),
      0,
      'needed a whole number from 1 to 9007199254740991',
    ],
  ])('%s', (_, shape, value, needed) => {
    expect(() => readShape(shape, value, 'a line')).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_MALFORMED',
        category: 'refused',
        message: `a line: ${needed}`,
      }),
    );
    expect(tryShape(shape, value)).toBeUndefined();
  });

  it('without the value, which may be large or secret', () => {
    const secret = 'x'.repeat(10_000);
    expect(() => readShape(record({ key: text(64) }), { key: secret })).toThrow(
      /^key: needed text of at most 64/,
    );
    expect(() => readShape(record({}), { [secret]: 1 })).toThrow(/^there is no field 'x{40}'$/);
  });
});

it('does not take an error of a shape itself for a value that does not fit', () => {
  const broken: Shape<never> = {
    read() {
      throw new TypeError('a bug');
    },
  };
  expect(() => tryShape(broken, 1)).toThrow(TypeError);
  expect(() => readShape(broken, 1, 'x')).toThrow(TypeError);
  expect(new ShapeError('a', 'needed b').message).toBe('a: needed b');
  expect(shapeErrors).toHaveProperty('ERR_RDMC_MALFORMED');
});

it('a field is what the value itself has, and __proto__ is a field as others are', () => {
  expect(readShape(record({ toString: optional(text()) }), {})).toStrictEqual({});
  const value = JSON.parse('{"__proto__": 5}') as object;
  expect(() => readShape(record({}), value)).toThrow("there is no field '__proto__'");
  expect(Object.keys(readShape(dictionary(whole()), value))).toEqual(['__proto__']);
});
