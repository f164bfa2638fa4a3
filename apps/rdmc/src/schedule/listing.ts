import type { Schedule, Transfer } from '@rdmc/schedule';
import type { Palette } from '../ui/palette.js';
import { plural } from '../ui/units.js';
import { blockLabel } from './labels.js';

/** One line per step, with all its transfers. */
export function listSteps(schedule: Schedule, palette: Palette): string[] {
  const lines: string[] = [];
  const width = String(schedule.steps - 1).length;
  for (let step = 0; step < schedule.steps; step += 1) {
    const transfers = [...schedule.at(step)].map(
      ({ from, to, block }) => `${from}→${to} ${palette.block(block, blockLabel(block, schedule.blocks))}`,
    );
    lines.push(`${palette.dim(`step ${String(step).padStart(width)}`)}  ${transfers.join('  ')}`);
  }
  return lines;
}

/** The transfers of one member: one line per step in which it sends or receives. */
export function listRank(schedule: Schedule, rank: number, palette: Palette): string[] {
  const { sends, receives } = schedule.rank(rank);
  const byStep = new Map<number, { sent?: Transfer; received?: Transfer }>();
  for (const received of receives) byStep.set(received.step, { received });
  for (const sent of sends) byStep.set(sent.step, { ...byStep.get(sent.step), sent });
  const label = (block: number): string => palette.block(block, blockLabel(block, schedule.blocks));
  const steps = [...byStep].sort(([a], [b]) => a - b);
  const width = String(schedule.steps - 1).length;
  const lines = steps.map(([step, { sent, received }]) => {
    const receive = received ? `receives ${label(received.block)} from ${received.from}` : '';
    const send = sent ? `sends ${label(sent.block)} to ${sent.to}` : '';
    const both = [receive, send].filter((part) => part !== '').join(', ');
    return `${palette.dim(`step ${String(step).padStart(width)}`)}  ${both}`;
  });
  const { sendsTo, receivesFrom } = schedule.neighbours(rank);
  const meets = new Set([...sendsTo, ...receivesFrom]).size;
  lines.push(
    '',
    `rank ${rank} receives ${plural(receives.length, 'block')}, sends ${sends.length}, and needs ${plural(meets, 'queue pair')}.`,
  );
  return lines;
}
