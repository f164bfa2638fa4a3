import { chromeTrace, encodeTrace } from '@rdmc/dataplane/trace';
import { traceDocument } from './document.js';
import { timelinePage } from './page.js';
import type { WholeTrace } from './whole-trace.js';

/** What a trace is written as; the end of the file's name decides. */
type Format = 'page' | 'chrome' | 'records';

export function formatOf(path: string): Format {
  if (path.endsWith('.html')) return 'page';
  return path.endsWith('.json') ? 'chrome' : 'records';
}

/** The bytes of a file for people (.html), for Perfetto and about:tracing (.json), or with the records themselves. */
export function formatTrace(trace: WholeTrace, path: string): Uint8Array | string {
  const { header, events } = trace;
  const format = formatOf(path);
  if (format === 'records') return encodeTrace(header, events);
  const summary = traceDocument(trace);
  if (format === 'page') return timelinePage(trace, summary);
  // Viewers keep what they do not know.
  return JSON.stringify({ ...chromeTrace(events), displayTimeUnit: 'ms', otherData: { summary } });
}
