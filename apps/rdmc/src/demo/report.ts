import type { Palette } from '../ui/palette.js';
import type { Terminal } from '../ui/terminal.js';
import { textTable } from '../ui/text-table.js';
import { formatBytes, formatCount, formatRate, formatSeconds, plural } from '../ui/units.js';
import { wrap } from '../ui/wrap.js';
import type { ComparisonResult } from './compare.js';
import type { DemoEventOf, Measurement } from './events.js';
import type { SourceFile } from './source-file.js';

/** What a report is written for. */
type Page = Pick<Terminal, 'columns' | 'palette'>;

const TRANSPORTS = { shm: 'shared memory', tcp: 'TCP', roce: 'RoCE', infiniband: 'InfiniBand' };
const MOST_COLUMNS = 100;
/** Columns of a fact's name and its margins. */
const NAME_COLUMNS = 13;

/** A paragraph, of which `head` is bold. */
function paragraph(head: string, rest: string, { columns, palette }: Page): string[] {
  const [first, ...others] = wrap(`${head}${rest}`, Math.min(columns, MOST_COLUMNS));
  return [first!.replace(head, palette.bold(head)), ...others];
}

/** A name and a text, whose further lines are below its first. */
function fact(name: string, text: string, { columns }: Page): string[] {
  const [first, ...others] = wrap(text, Math.min(columns, MOST_COLUMNS) - NAME_COLUMNS);
  return [
    `  ${name.padEnd(NAME_COLUMNS - 2)}${first}`,
    ...others.map((line) => `${' '.repeat(NAME_COLUMNS)}${line}`),
  ];
}

/** Members, file and folder of the demonstration. */
export function describeBeginning(event: DemoEventOf<'begun'>, original: SourceFile, page: Page): string[] {
  const { file, byteLength, members, folder } = event;
  const part = byteLength < original.byteLength ? 'the first ' : '';
  const receivers = plural(members - 1, 'receiver');
  return [
    ...paragraph('rdmc demo', `  one root and ${receivers}, each in a separate process`, page),
    '',
    ...fact('file', `${file}, ${part}${formatBytes(byteLength)}`, page),
    ...fact('copies in', folder, page),
  ];
}

/** Device, transport and schedule, with reasons. */
export function describeJoin(event: DemoEventOf<'joined'>, page: Page): string[] {
  const { algorithm, blockBytes, blocks, steps } = event;
  const schedule = `${plural(blocks, 'block')} of ${formatBytes(blockBytes)}, ${plural(steps, 'step')}`;
  return [
    ...fact('device', `${event.device}: ${event.deviceReason}`, page),
    ...fact('transport', `${TRANSPORTS[event.transport]}: ${event.transportReason}`, page),
    ...fact('schedule', `${algorithm}: ${schedule}`, page),
  ];
}

const MOST_BAR = 24;
const LEAST_BAR = 4;
const GAP = 2;

interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** The widest cell. */
  readonly width: number;
  readonly cell: (row: Row) => string;
}

type Row = Pick<Measurement, 'steps' | 'seconds' | 'deliveredBytesPerSecond' | 'timesOneCopy'> & {
  readonly title: string;
};

const TITLE: Column = { title: '  algorithm', width: 19, cell: ({ title }) => `  ${title}` };
const STEPS: Column = { title: 'steps', align: 'right', width: 7, cell: ({ steps }) => formatCount(steps) };
const TIME: Column = {
  title: 'time',
  align: 'right',
  width: 8,
  cell: ({ seconds }) => formatSeconds(seconds),
};
const DELIVERED: Column = {
  title: 'delivered',
  align: 'right',
  width: 11,
  cell: ({ deliveredBytesPerSecond }) => formatRate(deliveredBytesPerSecond),
};
const RATIO: Column = {
  title: '× one copy',
  align: 'right',
  width: 10,
  cell: ({ timesOneCopy }) => timesOneCopy.toFixed(2),
};

const widthOf = (columns: readonly Column[]): number =>
  columns.reduce((sum, { width }) => sum + width + GAP, -GAP);

/** The columns that a window has room for, from the most to the least, and a bar of the time in what is left. */
function columnsFor(window: number, slowest: number, { cyan }: Palette): readonly Column[] {
  const choices = [
    [TITLE, STEPS, TIME, DELIVERED, RATIO],
    [TITLE, STEPS, TIME, RATIO],
    [TITLE, TIME, RATIO],
  ];
  const columns = choices.find((each) => widthOf(each) < window) ?? choices.at(-1)!;
  const cells = Math.min(MOST_BAR, window - widthOf(columns) - GAP - 1);
  if (cells < LEAST_BAR) return columns;
  const bar = ({ seconds }: Row): string =>
    cyan('█'.repeat(Math.max(1, Math.round((seconds / slowest) * cells))));
  return [...columns, { title: '', width: cells, cell: bar }];
}

function rowsOf({ measured, oneCopySeconds, oneCopySteps }: ComparisonResult, byteLength: number): Row[] {
  const one = {
    title: 'one copy',
    steps: oneCopySteps,
    seconds: oneCopySeconds,
    deliveredBytesPerSecond: byteLength / oneCopySeconds,
    timesOneCopy: 1,
  };
  return [one, ...measured.map((result) => ({ ...result, title: result.algorithm }))];
}

/** The comparison of the algorithms as a table. */
export function describeComparison(
  result: ComparisonResult,
  byteLength: number,
  ownLinks: boolean,
  page: Page,
): string[] {
  const { palette } = page;
  const rows = rowsOf(result, byteLength);
  const seconds = result.measured.map((each) => each.seconds);
  const columns = columnsFor(page.columns, Math.max(...seconds), palette);
  const fastest = Math.min(...seconds);
  const cells = rows.map((row) =>
    columns.map((column) => {
      const style = row.seconds === fastest && (column === TITLE || column === TIME) ? palette.green : String;
      return style(column.cell(row));
    }),
  );
  const { rounds } = result.measured[0]!;
  const times = rounds === 1 ? 'one round' : `median of ${rounds} rounds`;
  const where = ownLinks ? '; every row over the same links' : '';
  return [
    ...paragraph('Until the slowest receiver has it', `, ${times}${where}`, page),
    '',
    ...textTable(columns, cells, palette.dim),
  ];
}
