/**
 * What comes from another process, over a network or out of a file, is whatever that process wrote. A shape says what is
 * accepted, and reads a value by it; the type of what it gives follows from the shape:
 *
 *   const news = variants('type', { lost: { member: whole(0, 99), reason: text(200) }, pulse: {} });
 *   type News = Shaped<typeof news>;                  { type: 'lost', member: number, reason: string } | { type: 'pulse' }
 *   readShape(news, JSON.parse(line), 'a line')       or ShapeError: a line: member: needed a whole number from 0 to 99
 *
 * Bounds belong into the shape: what is accepted is stored, and sent on. Values are built anew, except those of
 * `opaqueRecord`.
 */
import { errorTable, RdmcError } from './rdmc-error.js';

/** The error of values that do not have their shape. */
export const shapeErrors = errorTable({
  ERR_RDMC_MALFORMED: [
    'refused',
    'what another process or a file says does not have the form that was agreed',
    'the message names the field; run the same release everywhere',
  ],
});

/** `message` names the field and what was needed there, and not the value: it may be large, or secret. */
export class ShapeError extends RdmcError<keyof typeof shapeErrors> {
  override readonly name = 'ShapeError';

  constructor(
    /** The fields that lead to what is wrong: `members.2.port`; empty for the value itself. */
    readonly path: string,
    /** What is accepted there, as text. */
    readonly needed: string,
    what = '',
  ) {
    super('ERR_RDMC_MALFORMED', [what, path, needed].filter((part) => part !== '').join(': '));
  }
}

/** Reads a value that another process wrote, and refuses what it does not accept. */
export interface Shape<T> {
  /** Reads a value. Called by other shapes; `readShape` and `tryShape` are for users. @throws ShapeError with `path` */
  read(value: unknown, path: string): T;
}

/** A field that may be missing. */
export interface OptionalShape<T> extends Shape<T | undefined> {
  /** Distinguishes the shapes of fields that may be missing. */
  readonly isOptional: true;
}

/** The type of what a shape reads. */
export type Shaped<S> = S extends Shape<infer T> ? T : never;

/** @param what for the message: where the value comes from. @throws ShapeError */
export function readShape<T>(shape: Shape<T>, value: unknown, what = ''): T {
  try {
    return shape.read(value, '');
  } catch (error) {
    if (error instanceof ShapeError && what !== '') throw new ShapeError(error.path, error.needed, what);
    throw error;
  }
}

/** Undefined for what has another shape. */
export function tryShape<T>(shape: Shape<T>, value: unknown): T | undefined {
  try {
    return shape.read(value, '');
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
}

/** The path of a field, or of an item, of what is at `path`. */
export function below(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`;
}
