import type { SalvageLog, SalvageReport } from './report.js';

const MIB = 1024 * 1024;
const NAMED_RANGES = 8;

/** The report for people. */
export function salvageText(report: SalvageReport): string {
  const { clusterId, state, directories, absent, logs } = report;
  const lines = [`cluster ${clusterId}, the coordinator's state: ${state}`];
  for (const { server, directory, files, damaged } of directories) {
    lines.push(`server ${server}: ${files} files in ${directory}`);
    for (const { path, message } of damaged) lines.push(`  not usable: ${path}: ${message}`);
  }
  for (const server of absent) lines.push(`server ${server}: its directory was not found`);
  for (const log of logs) lines.push(...logLines(log));
  return [...lines, '', ...outcomeLines(report)].join('\n');
}

function logLines(log: SalvageLog): string[] {
  const { segments, missing, doubtful, isEndMissing, isLossAccepted } = log;
  const state = log.isComplete ? 'complete' : 'INCOMPLETE';
  const size = (log.bytes / MIB).toFixed(1);
  const lines = [
    '',
    `log ${log.log} of server ${log.server}, ${slotsText(log.slots)}: ${state}`,
    `  can be recovered: ${log.keys} keys (${log.entries} entries, ${segments.length} segments, ${size} MiB)`,
    ...segments.map(({ segment, file, bytes }) => `    segment ${segment}: ${bytes} bytes of ${file}`),
  ];
  if (missing.length > 0) lines.push(`  missing: segments ${missing.join(', ')}`);
  if (doubtful.length > 0) {
    lines.push(
      `  doubtful: segments ${doubtful.join(', ')}, which are not in the newest list of the log's segments: copies of a cleaning`,
      '    that was in progress or had ended. Where it had ended, keys that were removed long ago may exist again',
    );
  }
  if (isEndMissing) lines.push('  missing: the last writes, which were only in the memory of its backups');
  if (isLossAccepted) lines.push('  its loss was accepted by an earlier run');
  return lines;
}

/** Slots that moved between servers are many ranges: `--json` has all of them. */
function slotsText(slots: SalvageLog['slots']): string {
  const named = slots.slice(0, NAMED_RANGES).map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
  const left = slots.length - named.length;
  return `slots ${named.join(', ')}${left > 0 ? ` and ${left} more ranges` : ''}`;
}

function outcomeLines({ outcome, absent }: SalvageReport): string[] {
  if (outcome === 'complete') return ['Nothing is missing: start all members, and they recover all of it.'];
  if (outcome === 'accepted') {
    return [
      'The missing entries were given up. Start all members with the same directories: they serve the listed entries.',
    ];
  }
  if (outcome === 'accepted-before') {
    return [
      'The loss was accepted already: the next start of all members serves the entries that were listed then. Nothing was changed.',
      'If more files were found since, give --accept-loss again: then it serves the entries that are listed now.',
    ];
  }
  const lines = ['Nothing was changed.'];
  if (absent.length > 0) {
    lines.push(
      `Files of servers ${absent.join(', ')} may have the missing entries: give copies of their directories, or`,
      `--without ${absent.join(',')} if they are lost.`,
    );
  }
  return [
    ...lines,
    'To start the cluster with the entries that can be recovered, and give up the others for ever, give --accept-loss.',
    'Then keys that were written last are missing or have older values, and keys that were removed last may exist again.',
  ];
}
