import { describe, expectTypeOf, it } from 'vitest';
import type * as bench from '../src/bench/documents.js';
import type * as cast from '../src/cast/events.js';
import type * as demo from '../src/demo/events.js';
import type * as devices from '../src/devices/survey.js';
import type * as doctor from '../src/doctor/check.js';
import type * as fetch from '../src/fetch/events.js';
import type * as published from '../src/index.js';
import type * as receive from '../src/receive/events.js';
import type * as schedule from '../src/schedule/document.js';
import type * as serve from '../src/serve/events.js';
import type * as simulate from '../src/simulate/document.js';
import type * as trace from '../src/trace/document.js';

// The compiler decides (`npm run typecheck`): a field of a schema that a published type lacks, or has in addition, does not compile.
describe('published types', () => {
  it('have the fields of the documents that the command prints', () => {
    expectTypeOf<published.StreamDocument>().toEqualTypeOf<bench.StreamDocument>();
    expectTypeOf<published.LatencyDocument>().toEqualTypeOf<bench.LatencyDocument>();
    expectTypeOf<published.MulticastDocument>().toEqualTypeOf<bench.MulticastDocument>();
    expectTypeOf<published.ScheduleDocument>().toEqualTypeOf<schedule.ScheduleDocument>();
    expectTypeOf<published.RankDocument>().toEqualTypeOf<schedule.RankDocument>();
    expectTypeOf<published.SimulationDocument>().toEqualTypeOf<simulate.SimulationDocument>();
    expectTypeOf<published.TraceSummaryDocument>().toEqualTypeOf<trace.TraceSummaryDocument>();
    expectTypeOf<published.DevicesDocument>().toEqualTypeOf<devices.DevicesDocument>();
    expectTypeOf<published.DoctorDocument>().toEqualTypeOf<doctor.DoctorDocument>();
    expectTypeOf<published.CheckResult>().toEqualTypeOf<doctor.CheckResult>();
  });

  it('have the fields of the events that the command prints', () => {
    expectTypeOf<published.DemoEvent>().branded.toEqualTypeOf<demo.DemoEvent>();
    expectTypeOf<published.CastPlan>().branded.toEqualTypeOf<cast.CastPlan>();
    expectTypeOf<published.CastEvent>().branded.toEqualTypeOf<cast.CastEvent>();
    expectTypeOf<published.ReceiveEvent>().branded.toEqualTypeOf<receive.ReceiveEvent>();
    expectTypeOf<published.ServeEvent>().branded.toEqualTypeOf<serve.ServeLine>();
    expectTypeOf<published.FetchEvent>().branded.toEqualTypeOf<fetch.FetchEvent>();
  });
});
