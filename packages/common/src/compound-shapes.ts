import { below, type OptionalShape, type Shape, ShapeError, tryShape } from './shape.js';
import { messageOf } from './thrown.js';

/** Null, or what the other shape accepts. */
export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return { read: (value, path) => (value === null ? null : shape.read(value, path)) };
}

/** For a field that may be missing. */
export function optional<T>(shape: Shape<T>): OptionalShape<T> {
  return {
    isOptional: true,
    read: (value, path) => (value === undefined ? undefined : shape.read(value, path)),
  };
}

/** For a field that may be missing, and then has this value. */
export function withDefault<T>(shape: Shape<T>, fallback: T): Shape<T> {
  return { read: (value, path) => (value === undefined ? fallback : shape.read(value, path)) };
}

/** What the first shape accepts, or else the second. */
export function either<A, B>(first: Shape<A>, second: Shape<B>): Shape<A | B> {
  return { read: (value, path) => tryShape(first, value) ?? second.read(value, path) };
}

/** What was read, made into something else; what `make` throws refuses the value. */
export function mapped<A, B>(shape: Shape<A>, make: (value: A) => B): Shape<B> {
  return {
    read(value, path) {
      const read = shape.read(value, path);
      try {
        return make(read);
      } catch (error) {
        throw new ShapeError(path, messageOf(error));
      }
    },
  };
}

/** An array of `least` to `most` items. */
export function list<T>(item: Shape<T>, least = 0, most = Number.POSITIVE_INFINITY): Shape<readonly T[]> {
  return {
    read(value, path) {
      if (!Array.isArray(value) || value.length < least || value.length > most)
        throw new ShapeError(path, `needed a list of ${least} to ${most} items`);
      return value.map((each, index) => item.read(each, below(path, index)));
    },
  };
}

/** An array of as many items as there are shapes. */
export function tuple<T extends readonly unknown[]>(
  ...items: { [K in keyof T]: Shape<T[K]> }
): Shape<[...T]> {
  return {
    read(value, path) {
      if (!Array.isArray(value) || value.length !== items.length)
        throw new ShapeError(path, `needed a list of ${items.length} items`);
      return value.map((each, index) => items[index]!.read(each, below(path, index))) as [...T];
    },
  };
}
