import type { Schedule, Transfer } from '@rdmc/schedule';
import type { Palette } from '../ui/palette.js';
import { blockLabel } from './labels.js';

export interface DrawingOptions {
  readonly palette: Palette;
  /** Columns of the terminal; wider drawings continue below. */
  readonly columns: number;
  /** Whether to show the sender of each block. */
  readonly withSenders: boolean;
}

interface Grid {
  readonly schedule: Schedule;
  /** What each member receives in each step: `received[rank][step]`. */
  readonly received: readonly (Transfer | undefined)[][];
  readonly cellWidth: number;
  readonly nameWidth: number;
}

const NOTHING = '·';

function cellText(transfer: Transfer, blocks: number, withSenders: boolean): string {
  const label = blockLabel(transfer.block, blocks);
  return withSenders ? `${transfer.from}→${label}` : label;
}

function gridOf(schedule: Schedule, withSenders: boolean): Grid {
  const received = Array.from({ length: schedule.nodes }, () =>
    new Array<Transfer | undefined>(schedule.steps).fill(undefined),
  );
  let cellWidth = String(schedule.steps - 1).length;
  for (const transfer of schedule.transfers()) {
    received[transfer.to]![transfer.step] = transfer;
    cellWidth = Math.max(cellWidth, cellText(transfer, schedule.blocks, withSenders).length);
  }
  const nameWidth = Math.max('member'.length, String(schedule.nodes - 1).length + ' root'.length);
  return { schedule, received, cellWidth, nameWidth };
}

function memberName(rank: number): string {
  return rank === 0 ? '0 root' : String(rank);
}

/** One line of the drawing, for steps `from` up to `to`. */
function row(grid: Grid, rank: number, from: number, to: number, options: DrawingOptions): string {
  const { palette, withSenders } = options;
  const { blocks } = grid.schedule;
  const cells = grid.received[rank]!.slice(from, to).map((transfer) => {
    if (!transfer) return palette.dim(NOTHING.padStart(grid.cellWidth));
    const text = cellText(transfer, blocks, withSenders).padStart(grid.cellWidth);
    return palette.block(transfer.block, text);
  });
  const holdsAll = rank === 0 ? ` ${palette.dim('has all')}` : '';
  return `${memberName(rank).padEnd(grid.nameWidth)}  ${cells.join(' ')}${holdsAll}`;
}

function titleRow(grid: Grid, from: number, to: number, palette: Palette): string {
  const steps = Array.from({ length: to - from }, (_, i) => String(from + i).padStart(grid.cellWidth));
  return palette.dim(`${'member'.padEnd(grid.nameWidth)}  ${steps.join(' ')}   step`);
}

/** The schedule as a picture: one row per member, one column per step, in each cell the block received. */
export function drawSchedule(schedule: Schedule, options: DrawingOptions): string[] {
  const grid = gridOf(schedule, options.withSenders);
  const room = options.columns - grid.nameWidth - 2 - ' has all'.length;
  const perBand = Math.max(1, Math.floor(room / (grid.cellWidth + 1)));
  const lines: string[] = [];
  for (let from = 0; from < schedule.steps; from += perBand) {
    const to = Math.min(from + perBand, schedule.steps);
    if (from > 0) lines.push('');
    lines.push(titleRow(grid, from, to, options.palette));
    for (let rank = 0; rank < schedule.nodes; rank += 1) lines.push(row(grid, rank, from, to, options));
  }
  return lines;
}
