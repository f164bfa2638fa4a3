/** Entry for reading the replica files of a cluster that does not run any more. */
export { acceptLoss, type KnownLogs, knownLogs } from './salvage/known-logs.js';
export {
  lockReplicaDirectory,
  type ReplicaDirectory,
  type ReplicaFile,
  readReplicaDirectory,
  readWhole,
} from './salvage/replica-files.js';
export { type LogSurvey, type SurveyedSegment, surveyLog } from './salvage/survey.js';
