/** For programs that run `rdmc`: its exit codes, and schemas of its output with `--json`. */
import * as bench from './bench/documents.js';
import * as cast from './cast/events.js';
import * as demo from './demo/events.js';
import type { DemoEvent } from './demo-events.js';
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
  TraceSummaryDocument,
} from './documents.js';
import type { CastEvent, CastPlan, ReceiveEvent } from './events.js';
import * as fetch from './fetch/events.js';
import type { FetchEvent, ServeEvent } from './pull-events.js';
import * as receive from './receive/events.js';
import * as schedule from './schedule/document.js';
import type { Schema } from './schema.js';
import * as serve from './serve/events.js';
import * as simulate from './simulate/document.js';
import * as trace from './trace/document.js';

export type * from './demo-events.js';
export type * from './documents.js';
export { cliErrors } from './errors.js';
export type * from './events.js';
export { ExitCode } from './exit-codes.js';
export type * from './pull-events.js';
export type { Schema } from './schema.js';

/** The schema of `rdmc bench bandwidth --json` and `rdmc bench rate --json`. */
export const streamDocument: Schema<StreamDocument> = bench.streamDocument;
/** The schema of `rdmc bench latency --json`. */
export const latencyDocument: Schema<LatencyDocument> = bench.latencyDocument;
/** The schema of `rdmc bench multicast --json`. */
export const multicastDocument: Schema<MulticastDocument> = bench.multicastDocument;
/** The schema of `rdmc schedule --json`. */
export const scheduleDocument: Schema<ScheduleDocument> = schedule.scheduleDocument;
/** The schema of `rdmc schedule --rank R --json`. */
export const rankDocument: Schema<RankDocument> = schedule.rankDocument;
/** The schema of `rdmc simulate --json`. */
export const simulationDocument: Schema<SimulationDocument> = simulate.simulationDocument;
/** The schema of `rdmc trace summary --json`. */
export const traceSummaryDocument: Schema<TraceSummaryDocument> = trace.traceSummaryDocument;
/** The schema of `rdmc devices --json`. */
export const devicesDocument: Schema<DevicesDocument> = devices.devicesDocument;
/** The schema of `rdmc doctor --json`. */
export const doctorDocument: Schema<DoctorDocument> = doctor.doctorDocument;
/** The schema of one check of `rdmc doctor --json`. */
export const checkResult: Schema<CheckResult> = doctor.checkResult;
/** The schema of one line of `rdmc demo --json`. */
export const demoEvent: Schema<DemoEvent> = demo.demoEvent;
/** The schema of one line of `rdmc cast --json`. */
export const castEvent: Schema<CastEvent> = cast.castEvent;
/** The schema of `rdmc cast --dry-run --json`. */
export const castPlan: Schema<CastPlan> = cast.castPlan;
/** The schema of one line of `rdmc receive --json`. */
export const receiveEvent: Schema<ReceiveEvent> = receive.receiveEvent;
/** The schema of one line of `rdmc serve --json`. */
export const serveEvent: Schema<ServeEvent> = serve.serveEvent;
/** The schema of one line of `rdmc fetch --json`. */
export const fetchEvent: Schema<FetchEvent> = fetch.fetchEvent;
