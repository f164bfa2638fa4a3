/** The entry `@rdmc/common/errors`: what errors are made of, for packages that must not need any platform's APIs. */
export { optionErrors } from './option-errors.js';
export {
  type ErrorCategory,
  type ErrorFacts,
  type ErrorTable,
  errorTable,
  RdmcError,
  type RdmcErrorDetails,
} from './rdmc-error.js';
