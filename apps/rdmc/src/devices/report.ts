import type { Palette } from '../ui/palette.js';
import { textTable } from '../ui/text-table.js';
import { formatBytes, formatCount } from '../ui/units.js';
import type { DeviceEntry, DevicesDocument, PortEntry } from './survey.js';

/** The limits that are shown, in order. */
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

function limitLines({ limits }: DeviceEntry): string[] {
  const shown = LIMITS.filter(([key]) => typeof limits[key] === 'number');
  const width = Math.max(0, ...shown.map(([, title]) => title.length));
  return shown.map(([key, title, format]) => `  ${title.padEnd(width)}  ${format(limits[key] as number)}`);
}

function autoLine({ auto }: DevicesDocument, palette: Palette): string {
  if (auto.device === null) return `${palette.red('auto finds no device')}: ${auto.reason}`;
  return `auto takes ${palette.bold(auto.device)}: ${auto.reason}`;
}

function libraryLines({ notListed, verbsLibrary, verbsProblem, devices }: DevicesDocument): string[] {
  const lines = [`  library  ${verbsLibrary ?? verbsProblem ?? 'libibverbs: not found'}`];
  for (const { name, linkLayer, state } of notListed) {
    lines.push(
      `  ${name} (${linkLayer}, ${state}): known to the kernel, but not listed by libibverbs; see rdmc doctor`,
    );
  }
  if (devices.length === 1 && notListed.length === 0) lines.push('  devices  none in this machine');
  return lines;
}

function transportLines({ transports }: DeviceEntry, palette: Palette): string[] {
  const rows = transports.map(({ name, usable, reach, problem }) => [
    `  ${name}`,
    usable ? palette.green('usable') : palette.red('not usable'),
    problem ?? reach,
  ]);
  return textTable([{ title: '  transport' }, { title: 'state' }, { title: 'reaches' }], rows, palette.dim);
}

function portLines(port: PortEntry, palette: Palette): string[] {
  const { number, state, linkLayer, activeMtuBytes, maxMtuBytes, lid, gids } = port;
  const shown = state === 'active' ? palette.green(state) : palette.red(state);
  const address = linkLayer === 'infiniband' ? `, LID ${lid}` : '';
  const title = `  port ${number}  ${shown}, ${linkLayer}, MTU ${activeMtuBytes} of ${maxMtuBytes}${address}`;
  const rows = gids.map(({ index, gid, type, netdev, auto }) => {
    return [`  ${index}`, gid, type, netdev || '-', auto ? palette.green('auto') : ''];
  });
  const columns = ['  GID', 'address', 'type', 'netdev', ''].map((name) => ({ title: name }));
  return rows.length === 0 ? [title] : [title, ...textTable(columns, rows, palette.dim)];
}

/** The survey as text. */
export function describeDevices(document: DevicesDocument, palette: Palette): string[] {
  const lines: string[] = [];
  for (const device of document.devices) {
    const state = device.usable ? palette.green('usable') : palette.red('not usable');
    lines.push(`${palette.bold(device.name)}  kind ${device.kind}, ${state}`);
    if (device.problem) lines.push(`  ${device.problem}`);
    if (device.transports.length > 0) lines.push('', ...transportLines(device, palette));
    for (const port of device.ports) lines.push('', ...portLines(port, palette));
    if (device.usable) lines.push('', palette.dim('  limits'), ...limitLines(device));
    lines.push('');
  }
  lines.push(autoLine(document, palette), '', 'RDMA hardware', ...libraryLines(document));
  return lines;
}
