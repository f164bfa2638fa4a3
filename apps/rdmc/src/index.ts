/** For programs that run `rdmc`: its exit codes, and schemas of its output with `--json`. */
import * as bench from './bench/documents.js';
import * as cast from './cast/events.js';
import * as demo from './demo/events.js';
import * as devices from './devices/survey.js';
import * as doctor from './doctor/check.js';
import type {
  CheckResult,
  DevicesDocument,
  DoctorDocument,
  LatencyDocument,
  MulticastDocument,
  RankDocument,
  ScheduleDocument,
  SimulationDocument,
  StreamDocument,
} from './documents.js';
import type { CastEvent, CastPlan, DemoEvent, ReceiveEvent } from './events.js';
import * as receive from './receive/events.js';
import * as schedule from './schedule/document.js';
import type { Schema } from './schema.js';
import * as simulate from './simulate/document.js';

export type * from './documents.js';
export { cliErrors } from './errors.js';
export type * from './events.js';
export { ExitCode } from './exit-codes.js';
export type { Schema } from './schema.js';

export const streamDocument: Schema<StreamDocument> = bench.streamDocument;
export const latencyDocument: Schema<LatencyDocument> = bench.latencyDocument;
export const multicastDocument: Schema<MulticastDocument> = bench.multicastDocument;
export const scheduleDocument: Schema<ScheduleDocument> = schedule.scheduleDocument;
export const rankDocument: Schema<RankDocument> = schedule.rankDocument;
export const simulationDocument: Schema<SimulationDocument> = simulate.simulationDocument;
export const devicesDocument: Schema<DevicesDocument> = devices.devicesDocument;
export const doctorDocument: Schema<DoctorDocument> = doctor.doctorDocument;
export const checkResult: Schema<CheckResult> = doctor.checkResult;
export const demoEvent: Schema<DemoEvent> = demo.demoEvent;
export const castEvent: Schema<CastEvent> = cast.castEvent;
export const castPlan: Schema<CastPlan> = cast.castPlan;
export const receiveEvent: Schema<ReceiveEvent> = receive.receiveEvent;
