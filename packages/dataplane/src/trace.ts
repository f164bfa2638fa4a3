/*
 * The entry `@rdmc/dataplane/trace`: traces of what the members of a cluster do, and what they wait for. It loads neither a
 * device nor a worker.
 */
export { type AlignedTrace, type Alignment, alignTraces } from './trace/align.js';
export type { Cause } from './trace/causes.js';
export { type ChromeEvent, chromeTrace } from './trace/chrome-trace.js';
export { encodeTrace } from './trace/encode-trace.js';
export { SIMULATED_CLOCK, type TraceHeader } from './trace/file-header.js';
export { NONE, TraceKind, type TraceKindNumber, TraceProtocol } from './trace/layout.js';
export { namesOf } from './trace/names.js';
export { type DecodeOptions, decodeTrace, type Trace } from './trace/read-trace.js';
export { type TraceSink, type TraceSubject, traceSubject } from './trace/recorder.js';
export type { TraceEvent } from './trace/records.js';
export {
  type MemberDelays,
  type MemberWait,
  type MessageSkew,
  summarise,
  type TraceSummary,
} from './trace/summary.js';
export { type TimelineSpan, type Track, timeline } from './trace/timeline.js';
export { TraceFile, type TraceFileOptions, type TraceSource } from './trace/trace-file.js';
export { type WaitReason, type WaitSpan, waitSpans } from './trace/wait-spans.js';
