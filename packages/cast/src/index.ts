export type { Logger as CastLogger } from '@rdmc/common';
export type { UnsetAttributes } from './archive/unset-attributes.js';
export type { AfterCast, ArrivedCast } from './arrived-cast.js';
export { Cast, castFile, castFiles } from './cast.js';
export type { CastOptions, CastTarget } from './cast-options.js';
export type {
  CastFailure,
  CastPhase,
  CastProgress,
  CastRoute,
  DeviceRoute,
  ReceiverProgress,
  ReceiverState,
} from './cast-progress.js';
export { type CastStreamOptions, castStream } from './cast-stream.js';
export type { CastProblem, CastSummary, EntryChange, ReceiverSummary } from './cast-summary.js';
export type { EntrySink, SinkEntry } from './entry-sink.js';
export { AbortError, CastError, type CastErrorCode, type CastErrorDetails, castErrors } from './errors.js';
export type { FileSurvey } from './file-survey.js';
export type { FilterRule } from './filters/filter-rule.js';
export type { ByteRange } from './memory/coverage.js';
export type {
  CastMemory,
  FileArrived,
  FileFailed,
  FileMemory,
  MemoryEvent,
  TensorArrived,
} from './memory/file-memory.js';
export type { CastParts, FileRange } from './memory/parts.js';
export type { Tensor } from './memory/safetensors.js';
export { type FollowOptions, followShared } from './memory/shared/follow-shared.js';
export type {
  SharedFailure,
  SharedFile,
  SharedRecord,
  SharedTensor,
} from './memory/shared/shared-record.js';
export { Fetch, fetchFiles } from './pull/fetch.js';
export type { FetchOptions } from './pull/fetch-options.js';
export type { FetchProgress, FetchSummary } from './pull/fetch-summary.js';
export { fetchKey, isFetchKey } from './pull/roles.js';
export type {
  FetchBegan,
  FetchDropped,
  FetchServed,
  FetchServing,
  RunSent,
  ServeEvent,
} from './pull/serve-events.js';
export type { ServeOptions } from './pull/serve-options.js';
export { type FileServer, serveFiles } from './pull/server.js';
export { type FileReceiver, receiveFiles } from './receiver.js';
export type {
  CastBegan,
  CastComplete,
  CastFailed,
  CastReceiving,
  CastRouted,
  ReceiverEvent,
} from './receiver-events.js';
export type { ReceiveOptions } from './receiver-options.js';
export { removeKept } from './remove-kept.js';
export type { RemovedKept } from './resume/kept-data.js';
export { type SurveyOptions, surveyFiles } from './survey-files.js';
export {
  chooseTransfer,
  type TransferChoice,
  type TransferFacts,
  type TransferWishes,
} from './transfer-choice.js';
export * from './values.js';
