import type { SalvageLog, SalvageReport } from './report.js';

const MIB = 1024 * 1024;

/** The report for people. */
export function salvageText(report: SalvageReport): string {
  const { clusterId, state, directories, absent, logs } = report;
  const lines = [`cluster ${clusterId}, the coordinator's state: ${state}`];
  for (const { server, directory, files, damaged } of directories) {
    lines.push(`server ${server}: ${files} files in ${directory}`);
    for (const { path, message } of damaged) lines.push(`  cannot be used: ${path}: ${message}`);
  }
  for (const server of absent) lines.push(`server ${server}: no directory was found`);
  for (const log of logs) lines.push(...logLines(log));
  return [...lines, '', ...outcomeLines(report)].join('\n');
}

function logLines(log: SalvageLog): string[] {
  const { segments, missing, doubtful, isEndMissing, isLossAccepted } = log;
  const slots = log.slots.map(([from, to]) => `${from}-${to}`).join(', ');
  const state = log.isComplete ? 'complete' : 'INCOMPLETE';
  const size = (log.bytes / MIB).toFixed(1);
  const lines = [
    '',
    `log ${log.log} of server ${log.server}, slots ${slots}: ${state}`,
    `  can be recovered: ${log.keys} keys (${log.entries} entries, ${segments.length} segments, ${size} MiB)`,
    ...segments.map(({ segment, file, bytes }) => `    segment ${segment}: ${bytes} bytes of ${file}`),
  ];
  if (missing.length > 0) lines.push(`  missing: segments ${missing.join(', ')}`);
  if (doubtful.length > 0) {
    lines.push(
      `  doubtful: segments ${doubtful.join(', ')}, which the newest list of the log's segments does not name: copies made by a`,
      '    cleaning, under way or long over. Where it was over, keys that were removed long ago may be back',
    );
  }
  if (isEndMissing)
    lines.push('  missing: what was written last, which was only in the memory of its backups');
  if (isLossAccepted) lines.push('  its loss was accepted by an earlier run');
  return lines;
}

function outcomeLines({ outcome, absent }: SalvageReport): string[] {
  if (outcome === 'complete') return ['Nothing is missing: start all members, and they recover all of it.'];
  if (outcome === 'accepted') {
    return [
      'What is missing was given up. Start all members with the same directories: they serve what is listed.',
    ];
  }
  if (outcome === 'accepted-before') {
    return [
      'The loss was accepted already: the next start of all members serves what was listed then. Nothing was changed.',
      'Where more files were found since, say --accept-loss again: then it serves what is listed now.',
    ];
  }
  const lines = ['Nothing was changed.'];
  if (absent.length > 0) {
    lines.push(
      `Files of servers ${absent.join(', ')} may hold what is missing: name copies of their directories, or say`,
      `--without ${absent.join(',')} if they are gone for good.`,
    );
  }
  return [
    ...lines,
    'To open the cluster with what can be recovered, and give up the rest for ever, say --accept-loss.',
    'Then keys that were written last are missing or hold older values, and keys that were removed last may be back.',
  ];
}
