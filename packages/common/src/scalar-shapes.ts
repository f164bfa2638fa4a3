import { type Shape, ShapeError } from './shape.js';
import { isWholeNumber } from './whole-number.js';

function accepting<T>(needed: string, fits: (value: unknown) => boolean): Shape<T> {
  return {
    read(value, path) {
      if (fits(value)) return value as T;
      throw new ShapeError(path, `needed ${needed}`);
    },
  };
}

/** A whole number from `least` to `most`, both included. */
export function whole(least = 0, most = Number.MAX_SAFE_INTEGER): Shape<number> {
  return accepting(`a whole number from ${least} to ${most}`, (value) => isWholeNumber(value, least, most));
}

/** A number that is neither infinite nor NaN, from `least`. */
export function finite(least = Number.NEGATIVE_INFINITY): Shape<number> {
  const needed = least === Number.NEGATIVE_INFINITY ? 'a number' : `a number from ${least}`;
  return accepting(needed, (value) => Number.isFinite(value) && (value as number) >= least);
}

/** Text of at most so many UTF-16 units. */
export function text(most = Number.POSITIVE_INFINITY): Shape<string> {
  const needed = most === Number.POSITIVE_INFINITY ? 'text' : `text of at most ${most} characters`;
  return accepting(needed, (value) => typeof value === 'string' && value.length <= most);
}

/** Text of a form. The pattern bounds the length as well. */
export function pattern(form: RegExp, what = `text like ${form}`): Shape<string> {
  return accepting(what, (value) => typeof value === 'string' && form.test(value));
}

/** A UUID in lower case, as `randomUUID` makes them. */
export const uuid: Shape<string> = pattern(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a UUID');

/** True or false. */
export const flag: Shape<boolean> = accepting('true or false', (value) => typeof value === 'boolean');

/** One of some values. */
export function choice<const T extends string | number | boolean>(values: readonly T[]): Shape<T> {
  return accepting(values.map(String).join(' or '), (value) => values.includes(value as T));
}
