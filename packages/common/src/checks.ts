/** The entry `@rdmc/common/checks`: what checks values, for packages that must not need any platform's APIs. */
export { type OptionChecks, optionChecks } from './option-checks.js';
export { isWholeNumber, parseWholeNumber } from './whole-number.js';
