import type { Palette } from '../ui/palette.js';
import { textTable } from '../ui/text-table.js';
import { formatBytes, formatCount, formatRate, formatSeconds, plural } from '../ui/units.js';
import type { DemoEventOf, Measurement } from './events.js';

const BAR_CELLS = 24;

const TRANSPORTS = { shm: 'shared memory', tcp: 'TCP', roce: 'RoCE', infiniband: 'InfiniBand' };

/** Members, file and folder of the demonstration. */
export function describeBeginning(event: DemoEventOf<'begun'>, palette: Palette): string[] {
  const { file, byteLength, members, folder } = event;
  return [
    `${palette.bold('rdmc demo')}  one root and ${plural(members - 1, 'receiver')}, each in a separate process`,
    '',
    `  file       ${file}, ${formatBytes(byteLength)}`,
    `  copies in  ${folder}`,
  ];
}

/** Device, transport and schedule, with reasons. */
export function describeJoin(event: DemoEventOf<'joined'>): string[] {
  const { algorithm, blockBytes, blocks, steps } = event;
  return [
    `  device     ${event.device}: ${event.deviceReason}`,
    `  transport  ${TRANSPORTS[event.transport]}: ${event.transportReason}`,
    `  schedule   ${algorithm}: ${plural(blocks, 'block')} of ${formatBytes(blockBytes)}, ${plural(steps, 'step')}`,
  ];
}

function bar(seconds: number, slowest: number): string {
  return '█'.repeat(Math.max(1, Math.round((seconds / slowest) * BAR_CELLS)));
}

/** The comparison of the algorithms as a table. */
export function describeComparison(
  measured: readonly Measurement[],
  oneCopySeconds: number,
  palette: Palette,
): string[] {
  const slowest = Math.max(...measured.map(({ seconds }) => seconds));
  const fastest = Math.min(...measured.map(({ seconds }) => seconds));
  const rows = measured.map((result) => {
    const style = result.seconds === fastest ? palette.green : (text: string) => text;
    return [
      `  ${style(result.algorithm)}`,
      formatCount(result.steps),
      style(formatSeconds(result.seconds)),
      formatRate(result.deliveredBytesPerSecond),
      result.timesOneCopy.toFixed(1),
      palette.cyan(bar(result.seconds, slowest)),
    ];
  });
  const columns = [
    { title: '  algorithm' },
    { title: 'steps', align: 'right' },
    { title: 'time', align: 'right' },
    { title: 'delivered', align: 'right' },
    { title: '× one copy', align: 'right' },
    { title: '' },
  ] as const;
  const { rounds } = measured[0]!;
  return [
    `${palette.bold('The same file again')}, memory warm: median of ${rounds}, until the slowest receiver has it;`,
    `one copy in one process takes ${formatSeconds(oneCopySeconds)}`,
    '',
    ...textTable(columns, rows, palette.dim),
  ];
}
