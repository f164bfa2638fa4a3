/** For programs that run `rdmc`: its exit codes, and zod schemas of its output with `--json`. */
export {
  type LatencyDocument,
  latencyDocument,
  type MulticastDocument,
  multicastDocument,
  type StreamDocument,
  streamDocument,
} from './bench/documents.js';
export { type CastEvent, type CastPlan, castEvent, castPlan } from './cast/events.js';
export { type DemoEvent, demoEvent } from './demo/events.js';
export { type DevicesDocument, devicesDocument } from './devices/survey.js';
export { type CheckResult, checkResult, type DoctorDocument, doctorDocument } from './doctor/check.js';
export { cliErrors } from './errors.js';
export { ExitCode } from './exit-codes.js';
export { type ReceiveEvent, receiveEvent } from './receive/events.js';
export {
  type RankDocument,
  rankDocument,
  type ScheduleDocument,
  scheduleDocument,
} from './schedule/document.js';
export { type SimulationDocument, simulationDocument } from './simulate/document.js';
