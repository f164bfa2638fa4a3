import { formatBytes, formatCount, formatSeconds, plural } from '../ui/units.js';
import type { SimulationDocument } from './document.js';

const LABEL = 12;

function row(label: string, text: string): string {
  return `  ${label.padEnd(LABEL)}${text}`;
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(1)}%`;
}

/** The run for people; `description` is that of the preset. */
export function summariseSimulation(document: SimulationDocument, description: string): string[] {
  const { preset, algorithm, nodes, bytes, blockBytes, windows, microseconds, messages } = document;
  const ready = windows.ready === null ? '' : `, ${plural(windows.ready, 'ready token')}`;
  const blocks = Math.max(1, Math.ceil(bytes / blockBytes));
  const checks = document.validated.reduce((sum, { checks }) => sum + checks, 0);
  const rate = `${document.gbitPerSecond.toFixed(2)} Gbit/s`;
  return [
    `validated: ${plural(checks, 'known result')} of ${document.validated.length} properties`,
    `${preset}: ${description}`,
    row('multicast', `${algorithm}, ${plural(nodes, 'member')}, ${plural(messages.length, 'message')}`),
    row('message', `${formatBytes(bytes)} in ${plural(blocks, 'block')} of ${formatBytes(blockBytes)}`),
    row('windows', `${plural(windows.receive, 'receive')}, ${plural(windows.send, 'send')}${ready}`),
    row('time', `${formatSeconds(microseconds / 1e6)}, ${rate}`),
    row('schedule', `${formatCount(document.steps)} steps, ${plural(document.transfers, 'transfer')}`),
    ...busiest(document),
    ...document.racks.map(({ rack, entering, leaving }) =>
      row(`rack ${rack}`, `${plural(entering, 'block')} in, ${formatCount(leaving)} out`),
    ),
    row('simulator', `${plural(document.events, 'event')}, seed ${document.seed}`),
  ];
}

/** The thread with the most work. */
function busiest({ hosts, microseconds, offload }: SimulationDocument): string[] {
  if (offload) return [row('threads', 'none: the NICs run the protocol')];
  const most = hosts.reduce((a, b) => (b.working > a.working ? b : a));
  const { node, working, polling, wakeUps } = most;
  const share = `${percent(working, microseconds)} working, ${percent(polling, microseconds)} polling`;
  return [row('threads', `most work at node ${node}: ${share}, ${plural(wakeUps, 'wake-up')}`)];
}
