import type { Loss } from './loss.js';
import { numberedBytes } from './numbered-floats.js';
import type { ProcessReport } from './process-report.js';
import type { RunResult } from './run.js';

/** 10^6 bytes per second that arrived at workers: each of them counts. */
export function megabytesPerSecond({ deliveredBytes, multicastMs }: RunResult): number {
  return deliveredBytes / 1000 / multicastMs;
}

export function gradientsPerSecond({ gradients, trainingMs }: RunResult): number {
  return (1000 * gradients) / trainingMs;
}

export function describeLoss({ member, step, group, channel }: Loss): string {
  const said = `group: ${group ?? 'nothing'}, channel: ${channel ?? 'nothing'}`;
  return `worker ${member} lost in step ${step} (${said}); the step is repeated without it`;
}

/** The command's output at the end. */
export function summaryLines(result: RunResult): string[] {
  const { settings, records, losses, log, processes, crews } = result;
  const lost = losses.map(({ member }) => `worker ${member}`).join(', ') || 'none';
  const mb = (numberedBytes(settings.parameters) / 1e6).toFixed(2);
  return [
    `  steps          ${records.length}, of ${settings.parameters} parameters (${mb} MB)`,
    `  lost members   ${lost}`,
    `  crews          ${crews}: a group and a channel each`,
    `  multicast      ${megabytesPerSecond(result).toFixed(0)} MB/s, all receivers together`,
    `  gradients      ${gradientsPerSecond(result).toFixed(0)} per second`,
    `  log            ${log.recovered} records recovered; ${backupsOf(result)}`,
    '  checksums      equal: of the log, of the trainer, of one process alone',
    ...processes.map(describeProcess),
  ];
}

function backupsOf({ log }: RunResult): string {
  const { backupsAtStart: before, backupsAtEnd: after } = log;
  const now = `replicas at workers ${after.join(', ')}`;
  return before.join() === after.join() ? now : `${now} (before: ${before.join(', ')})`;
}

function describeProcess({ member, dataPlaneThreads: threads, counters }: ProcessReport): string {
  const { completions, polls, sleeps } = counters;
  const who = member === 0 ? 'trainer ' : `worker ${member}`;
  const counted = `${completions} completions, ${polls} polls, ${sleeps} sleeps`;
  return `  ${who}       ${threads} data-plane thread${threads === 1 ? '' : 's'}: ${counted}`;
}
