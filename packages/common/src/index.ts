export { Deferred } from '@rdmc/common';
export { type OptionChecks, type OptionErrorCode, optionChecks } from './option-checks.js';
export { codeOf, messageOf } from './thrown.js';
