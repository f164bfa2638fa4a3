/** The entry `@rdmc/common/shapes`: the shapes of values from other processes. Its names are short, for modules that import them from here. */
export { either, list, mapped, nullable, optional, tuple, withDefault } from './compound-shapes.js';
export {
  dictionary,
  type Fields,
  opaqueRecord,
  openRecord,
  record,
  type ShapedFields,
  variants,
} from './record-shapes.js';
export { choice, finite, flag, pattern, text, uuid, whole } from './scalar-shapes.js';
export {
  type OptionalShape,
  readShape,
  type Shape,
  type Shaped,
  ShapeError,
  shapeErrors,
  tryShape,
} from './shape.js';
