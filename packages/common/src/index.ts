export { AbortError, abortErrors, throwIfAborted } from './abort-error.js';
export { anySignal } from './any-signal.js';
export { Deferred } from './deferred.js';
export type { Key } from './key.js';
export { Lifetime } from './lifetime.js';
export type { Logger } from './logger.js';
export { type OptionChecks, optionChecks } from './option-checks.js';
export { type OptionErrorCode, optionErrors } from './option-errors.js';
export { ownIdentity, type ProcessIdentity, parseIdentity, processState } from './process-identity.js';
export {
  categoryOf,
  type ErrorCategory,
  type ErrorFacts,
  type ErrorTable,
  errorTable,
  isCodeOf,
  RdmcError,
  type RdmcErrorDetails,
} from './rdmc-error.js';
export { type Subscription, subscription } from './subscription.js';
export { codeOf, messageOf } from './thrown.js';
export { USER_KEY_BYTES, UserKeyError, userKey, userKeyDirectory, userKeyErrors } from './user-key.js';
