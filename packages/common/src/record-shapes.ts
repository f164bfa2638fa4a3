import { choice } from './scalar-shapes.js';
import { below, type OptionalShape, type Shape, type Shaped, ShapeError } from './shape.js';

/** The fields of a record by name. */
export type Fields = Readonly<Record<string, Shape<unknown>>>;
type OptionalNames<F extends Fields> = {
  [K in keyof F]: F[K] extends OptionalShape<unknown> ? K : never;
}[keyof F];
type Flat<T> = { [K in keyof T]: T[K] };
/** The type of what a record of these fields reads. */
export type ShapedFields<F extends Fields> = Flat<
  { [K in Exclude<keyof F, OptionalNames<F>>]: Shaped<F[K]> } & { [K in OptionalNames<F>]?: Shaped<F[K]> }
>;

/** An object with these fields, and no others. */
export function record<const F extends Fields>(fields: F): Shape<ShapedFields<F>> {
  return {
    read(value, path) {
      const given = objectOf(value, path);
      const stranger = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
      if (stranger !== undefined) throw new ShapeError(path, `there is no field '${stranger.slice(0, 40)}'`);
      return readFields(fields, given, path) as ShapedFields<F>;
    },
  };
}

/** An object with these fields; others are left out, as later releases may add some. */
export function openRecord<const F extends Fields>(fields: F): Shape<ShapedFields<F>> {
  return {
    read: (value, path) => readFields(fields, objectOf(value, path), path) as ShapedFields<F>,
  };
}

/** An object with these fields, which is kept as it is: what else is in it, somebody else reads and checks. */
export function opaqueRecord<const F extends Fields>(fields: F): Shape<ShapedFields<F>> {
  return {
    read(value, path) {
      readFields(fields, objectOf(value, path), path);
      return value as ShapedFields<F>;
    },
  };
}

/** An object whose fields may have any name, and all have values of one shape. */
export function dictionary<T>(shape: Shape<T>): Shape<Record<string, T>> {
  return {
    read(value, path) {
      const entries = Object.entries(objectOf(value, path));
      return Object.fromEntries(entries.map(([name, each]) => [name, shape.read(each, below(path, name))]));
    },
  };
}

/**
 * Records told apart by one field: the names of `kinds` are its values.
 * @param recordOf `openRecord` where fields that are not known are to be left out, instead of refused
 */
export function variants<const Key extends string, const Kinds extends Readonly<Record<string, Fields>>>(
  key: Key,
  kinds: Kinds,
  recordOf: (fields: Fields) => Shape<object> = record,
): Shape<{ [Name in keyof Kinds]: Flat<{ [K in Key]: Name } & ShapedFields<Kinds[Name]>> }[keyof Kinds]> {
  const shapes = new Map(
    Object.entries(kinds).map(([name, fields]) => [name, recordOf({ [key]: choice([name]), ...fields })]),
  );
  return {
    read(value, path) {
      const shape = shapes.get(objectOf(value, path)[key] as string);
      if (!shape) throw new ShapeError(below(path, key), `needed ${[...shapes.keys()].join(' or ')}`);
      return shape.read(value, path) as never;
    },
  };
}

function objectOf(value: unknown, path: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new ShapeError(path, 'needed an object');
}

function readFields(fields: Fields, given: Record<string, unknown>, path: string): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const [name, shape] of Object.entries(fields)) {
    const value = shape.read(Object.hasOwn(given, name) ? given[name] : undefined, below(path, name));
    if (value !== undefined) read[name] = value;
  }
  return read;
}
