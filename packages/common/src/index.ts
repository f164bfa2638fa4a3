export { AbortError, abortErrors, throwIfAborted } from './abort-error.js';
export { Deadline, type Limits, pause, settledWithin, within } from './deadline.js';
export { Deferred } from './deferred.js';
export { Fifo } from './fifo.js';
export type { Key } from './key.js';
export {
  commonLevel,
  FIRST_LEVEL,
  LEVELS,
  type Levels,
  levelsText,
  MAX_LEVEL,
  ownLevels,
  speaks,
} from './levels.js';
export { Lifetime } from './lifetime.js';
export type { Logger } from './logger.js';
export { makeDirectories, makeDurableDirectories, syncDirectory } from './make-directories.js';
export { anySignal, truncatesFileTimes } from './node-20.js';
export { onAbort } from './on-abort.js';
export { type OptionChecks, optionChecks } from './option-checks.js';
export { type OptionErrorCode, optionErrors } from './option-errors.js';
export { PendingCalls } from './pending-calls.js';
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
export { SerialQueue } from './serial-queue.js';
export { ShapeError, shapeErrors } from './shape.js';
export { SilenceTimer } from './silence-timer.js';
export { SingleConsumer, type SingleConsumerOptions } from './single-consumer.js';
export { type Subscription, subscription } from './subscription.js';
export { systemReason } from './system-reason.js';
export { codeOf, messageOf } from './thrown.js';
export { Tracer } from './tracer.js';
export { USER_KEY_BYTES, UserKeyError, userKey, userKeyDirectory, userKeyErrors } from './user-key.js';
export { isWholeNumber, parseWholeNumber } from './whole-number.js';
