export { TrainingError, type TrainingErrorCode, trainingErrors, WorkerError } from './errors.js';
export type { Loss } from './loss.js';
export type { ProcessReport } from './process-report.js';
export { type RunResult, run } from './run.js';
export type { Settings } from './settings.js';
export type { StepRecord } from './step-record.js';
export type { Training, TrainingEvents } from './trainer.js';
