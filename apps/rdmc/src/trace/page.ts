import { type TimelineSpan, timeline } from '@rdmc/dataplane/trace';
import type { TraceSummaryDocument } from './document.js';
import { pageScript } from './page-script.js';
import { pageStyle } from './page-style.js';
import { describeDelays } from './report.js';
import type { WholeTrace } from './whole-trace.js';

/** Spans of blocks beyond this number are left out: a page of 100 MB does not open. Waits and messages stay. */
const MOST_SPANS = 300_000;
const TRACKS = ['wait', 'message', 'send', 'receive', 'sleep'] as const;

/** What the script of the page draws. Times are microseconds since the first span. */
export interface PageData {
  readonly members: readonly number[];
  /** [track, index of the member, begin, length, group, message, block, peer, what]; −1 for no value. */
  readonly spans: readonly (readonly (number | string)[])[];
}

/** One page with a timeline of all members, its data and its script: it loads nothing. */
export function timelinePage(
  trace: WholeTrace,
  summary: TraceSummaryDocument,
  mostSpans = MOST_SPANS,
): string {
  const all = timeline(trace.events);
  const isShort = all.length <= mostSpans;
  const spans = isShort ? all : all.filter(({ track }) => track === 'wait' || track === 'message');
  const notes = [...trace.notes, ...(isShort ? [] : [`${all.length - spans.length} blocks are not drawn`])];
  // Numbers, and words of this program: no text that could end the script.
  const json = JSON.stringify(dataOf(spans, summary));
  const lines = describeDelays(summary);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>rdmc: who delays whom</title>
<style>${pageStyle}</style>
</head>
<body>
<h1>Who delays whom</h1>
<pre id="summary">${escaped([...lines.slice(1), ...notes.map((note) => `  note: ${note}`)].join('\n'))}</pre>
<p>${escaped(lines[0]!)}. Each member has a row: what it waits for, its messages, sends, receives, and when its thread slept.</p>
<p class="keys">Zoom: wheel, <kbd>+</kbd> <kbd>−</kbd>. Move: drag, <kbd>←</kbd> <kbd>→</kbd>. Member: <kbd>↑</kbd>
<kbd>↓</kbd>. Its next wait: <kbd>n</kbd> <kbd>p</kbd>. All: <kbd>0</kbd>.</p>
<p id="legend"></p>
<canvas id="timeline" tabindex="0" role="application" aria-label="Timeline of all members" aria-describedby="details"></canvas>
<p id="details" role="status" aria-live="polite">Nothing is chosen.</p>
<script type="application/json" id="data">${json}</script>
<script>${pageScript}</script>
</body>
</html>
`;
}

function dataOf(spans: readonly TimelineSpan[], { members }: TraceSummaryDocument): PageData {
  const ids = members.map(({ member }) => member);
  const index = new Map(ids.map((id, at) => [id, at]));
  const zero = spans[0]?.from ?? 0;
  const micros = (ns: number): number => Math.round(ns / 10) / 100;
  return {
    members: ids,
    spans: spans.map(({ track, member, from, to, group, message, block, peer, what }) => {
      const times = [micros(from - zero), micros(to - from)];
      const of = [group, message ?? -1, block ?? -1, peer ?? -1];
      return [TRACKS.indexOf(track), index.get(member)!, ...times, ...of, what];
    }),
  };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
