import type { Palette } from '../ui/palette.js';
import { type Column, textTable } from '../ui/text-table.js';
import { formatBytes, formatCount, formatRate, formatSeconds } from '../ui/units.js';
import type { LatencyDocument, MulticastDocument, StreamDocument } from './documents.js';

function right(...titles: readonly string[]): Column[] {
  return titles.map((title) => ({ title, align: 'right' }));
}

/** Columns as in perftest: size, count, peak, average, message rate. */
export function describeStream({ results }: StreamDocument, palette: Palette): string[] {
  const rows = results.map((result) => [
    formatBytes(result.byteLength),
    formatCount(result.messages),
    formatRate(result.peakBytesPerSecond),
    formatRate(result.bytesPerSecond),
    formatCount(Math.round(result.messagesPerSecond)),
  ]);
  return textTable(right('size', 'messages', 'peak', 'average', 'messages/s'), rows, palette.dim);
}

export function describeLatency({ results }: LatencyDocument, palette: Palette): string[] {
  const rows = results.map((result) => [
    formatBytes(result.byteLength),
    formatCount(result.rounds),
    formatSeconds(result.minimum),
    formatSeconds(result.median),
    formatSeconds(result.average),
    formatSeconds(result.p99),
    formatSeconds(result.p999),
    formatSeconds(result.maximum),
  ]);
  const columns = right('size', 'rounds', 'least', 'median', 'average', '99%', '99.9%', 'most');
  return textTable(columns, rows, palette.dim);
}

export function describeMulticast({ results }: MulticastDocument, palette: Palette): string[] {
  const rows = results.map((result) => [
    formatCount(result.members),
    formatBytes(result.byteLength),
    result.algorithm,
    formatBytes(result.blockBytes),
    formatCount(result.steps),
    formatSeconds(result.seconds),
    formatSeconds(result.fastestSeconds),
    formatSeconds(result.skewSeconds),
    formatRate(result.deliveredBytesPerSecond),
    formatCount(Math.round(result.messagesPerSecond)),
    result.timesOneCopy.toFixed(1),
  ]);
  const columns = [
    ...right('members', 'size'),
    { title: 'algorithm' },
    ...right('block', 'steps', 'median', 'least', 'skew', 'delivered', 'messages/s', '× one copy'),
  ];
  return textTable(columns, rows, palette.dim);
}
