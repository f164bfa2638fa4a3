import type { Palette } from '../ui/palette.js';
import { textTable } from '../ui/text-table.js';
import { formatBytes, formatCount } from '../ui/units.js';
import type { DevicesDocument } from './survey.js';

/** Limits worth a line, in the order of the list. */
const LIMITS: readonly (readonly [key: string, title: string, format: (value: number) => string])[] = [
  ['maxQueuePairs', 'queue pairs', formatCount],
  ['maxCompletionQueueDepth', 'completion queue depth', formatCount],
  ['maxSendDepth', 'send queue depth', formatCount],
  ['maxReceiveDepth', 'receive queue depth', formatCount],
  ['maxSge', 'scatter/gather entries', formatCount],
  ['maxInlineBytes', 'inline data', formatBytes],
  ['maxMessageBytes', 'longest message', formatBytes],
  ['maxRegions', 'memory regions', formatCount],
];

function limitLines({ limits }: DevicesDocument['devices'][number]): string[] {
  const shown = LIMITS.filter(([key]) => typeof limits[key] === 'number');
  const width = Math.max(0, ...shown.map(([, title]) => title.length));
  return shown.map(([key, title, format]) => `  ${title.padEnd(width)}  ${format(limits[key] as number)}`);
}

function autoLine({ auto }: DevicesDocument, palette: Palette): string {
  if (auto.device === null) return `${palette.red('auto takes nothing')}: ${auto.reason}`;
  return `auto takes ${palette.bold(auto.device)}: ${auto.reason}`;
}

function foundLines({ foundButNotDriven, verbsLibrary }: DevicesDocument): string[] {
  const devices = foundButNotDriven.map(
    ({ name, linkLayer, state }) => `  ${name} (${linkLayer}, ${state}): found, not driven by this version`,
  );
  const library = verbsLibrary
    ? `  ${verbsLibrary}: found, not used by this version`
    : '  libibverbs: not found';
  return devices.length > 0 ? [...devices, library] : ['  RDMA devices of the kernel: none found', library];
}

/** The survey for people. */
export function describeDevices(document: DevicesDocument, palette: Palette): string[] {
  const lines: string[] = [];
  for (const device of document.devices) {
    const state = device.usable ? palette.green('usable') : palette.red('not usable');
    lines.push(`${palette.bold(device.name)}  kind ${device.kind}, ${state}`);
    if (device.problem) lines.push(`  ${device.problem}`);
    const rows = device.transports.map(({ name, usable, reach, problem }) => [
      `  ${name}`,
      usable ? palette.green('usable') : palette.red('not usable'),
      problem ?? reach,
    ]);
    const columns = [{ title: '  transport' }, { title: 'state' }, { title: 'reaches' }];
    lines.push('', ...textTable(columns, rows, palette.dim));
    if (device.usable) lines.push('', palette.dim('  limits'), ...limitLines(device));
  }
  lines.push('', autoLine(document, palette), '', 'Hardware', ...foundLines(document));
  return lines;
}
