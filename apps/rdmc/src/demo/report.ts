import type { Palette } from '../ui/palette.js';
import { textTable } from '../ui/text-table.js';
import { formatBytes, formatCount, formatRate, formatSeconds, plural } from '../ui/units.js';
import type { ComparisonResult } from './compare.js';
import type { DemoEventOf } from './events.js';
import type { SourceFile } from './source-file.js';

const BAR_CELLS = 24;
const ONE_COPY = 'one copy';

const TRANSPORTS = { shm: 'shared memory', tcp: 'TCP', roce: 'RoCE', infiniband: 'InfiniBand' };

/** Members, file and folder of the demonstration. */
export function describeBeginning(
  event: DemoEventOf<'begun'>,
  original: SourceFile,
  palette: Palette,
): string[] {
  const { file, byteLength, members, folder } = event;
  const part = byteLength < original.byteLength ? 'the first ' : '';
  return [
    `${palette.bold('rdmc demo')}  one root and ${plural(members - 1, 'receiver')}, each in a separate process`,
    '',
    `  file       ${file}, ${part}${formatBytes(byteLength)}`,
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
  { measured, oneCopySeconds }: ComparisonResult,
  byteLength: number,
  ownLinks: boolean,
  palette: Palette,
): string[] {
  const slowest = Math.max(...measured.map(({ seconds }) => seconds));
  const fastest = Math.min(...measured.map(({ seconds }) => seconds));
  const one = [
    `  ${ONE_COPY}`,
    formatCount(measured[0]!.blocks),
    formatSeconds(oneCopySeconds),
    formatRate(byteLength / oneCopySeconds),
    '1.00',
    palette.cyan(bar(oneCopySeconds, slowest)),
  ];
  const rows = measured.map((result) => {
    const style = result.seconds === fastest ? palette.green : (text: string) => text;
    return [
      `  ${style(result.algorithm)}`,
      formatCount(result.steps),
      style(formatSeconds(result.seconds)),
      formatRate(result.deliveredBytesPerSecond),
      result.timesOneCopy.toFixed(2),
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
  const times = rounds === 1 ? 'one round' : `median of ${rounds} rounds`;
  return [
    `${palette.bold('Until the slowest receiver has it')}, ${times}${ownLinks ? '; every row over the same links' : ''}`,
    '',
    ...textTable(columns, [one, ...rows], palette.dim),
  ];
}
