import { createSchedule, MAX_BLOCKS, MAX_NODES, type Schedule } from '@rdmc/schedule';
import type { Command } from 'commander';
import * as z from 'zod';
import { advised } from '../advice.js';
import { usageError } from '../errors.js';
import { toRankDocument, toScheduleDocument } from '../schedule/document.js';
import { drawSchedule } from '../schedule/drawing.js';
import * as limits from '../schedule/limits.js';
import { listRank, listSteps } from '../schedule/listing.js';
import { summarise } from '../schedule/summary.js';
import type { Session } from '../session.js';
import type { Terminal } from '../ui/terminal.js';
import { formatCount } from '../ui/units.js';
import { algorithm, list, parseOptions, wholeNumber } from '../values.js';
import { addHelpNotes } from './help.js';

const schema = z.strictObject({
  algorithm,
  nodes: wholeNumber(2, MAX_NODES),
  blocks: wholeNumber(1, MAX_BLOCKS),
  racks: list(z.string().min(1)).optional(),
  rank: wholeNumber(0, MAX_NODES - 1).optional(),
  format: z.enum(['draw', 'table', 'steps'], { error: () => 'expected draw, table or steps' }),
  json: z.boolean().default(false),
});
type Options = z.output<typeof schema>;

function tooBig(what: string, most: number, advice: string): never {
  throw usageError(`${what}; at most ${formatCount(most)} are shown`, advice);
}

/** Every member except the root receives every block once. */
function transferCount({ nodes, blocks }: Schedule): number {
  return (nodes - 1) * blocks;
}

/** Number of transfers of one member; counting stops above `most`. */
function rankTransferCount(schedule: Schedule, rank: number, most: number): number {
  let count = rank === 0 ? 0 : schedule.blocks;
  for (const _ of schedule.sends(rank)) {
    if (count > most) break;
    count += 1;
  }
  return count;
}

function checkRank({ rank, nodes }: Options): void {
  if (rank === undefined || rank < nodes) return;
  throw usageError(`--rank: found ${rank}; the ranks of ${nodes} members are 0 to ${nodes - 1}`);
}

function checkShowable(schedule: Schedule, format: Options['format']): void {
  const advice = 'show one member with --rank R, or everything with --json';
  const { nodes, steps } = schedule;
  if (format === 'steps') {
    const count = transferCount(schedule);
    if (count > limits.MAX_LISTED_TRANSFERS) {
      tooBig(`${formatCount(count)} transfers`, limits.MAX_LISTED_TRANSFERS, advice);
    }
    return;
  }
  if (nodes > limits.MAX_DRAWN_MEMBERS) {
    tooBig(`${formatCount(nodes)} members do not fit a drawing`, limits.MAX_DRAWN_MEMBERS, advice);
  }
  if (steps > limits.MAX_DRAWN_STEPS) {
    tooBig(`${formatCount(steps)} steps do not fit a drawing`, limits.MAX_DRAWN_STEPS, advice);
  }
}

function printJson(schedule: Schedule, { rank }: Options, terminal: Terminal): void {
  const most = limits.MAX_JSON_TRANSFERS;
  if (rank === undefined) {
    const count = transferCount(schedule);
    if (count > most) tooBig(`${formatCount(count)} transfers`, most, 'show one member with --rank R');
    terminal.json(toScheduleDocument(schedule));
    return;
  }
  if (rankTransferCount(schedule, rank, most) > most) {
    tooBig(`member ${rank} has too many transfers`, most, 'use fewer, larger blocks');
  }
  terminal.json(toRankDocument(schedule, rank));
}

function printRank(schedule: Schedule, rank: number, terminal: Terminal): void {
  const most = limits.MAX_LISTED_TRANSFERS;
  if (rankTransferCount(schedule, rank, most) > most) {
    tooBig(`member ${rank} has more transfers than fit a list`, most, 'use --json, or fewer blocks');
  }
  terminal.out(...listRank(schedule, rank, terminal.palette));
}

function printSchedule(schedule: Schedule, format: Options['format'], terminal: Terminal): void {
  checkShowable(schedule, format);
  const { palette, columns } = terminal;
  const lines =
    format === 'steps'
      ? listSteps(schedule, palette)
      : drawSchedule(schedule, { palette, columns, withSenders: format === 'table' });
  terminal.out(...lines, '', ...summarise(schedule));
}

function runSchedule(options: Options, terminal: Terminal): void {
  checkRank(options);
  const { algorithm, nodes, blocks, racks, rank } = options;
  const schedule = advised('schedule', () => createSchedule({ algorithm, nodes, blocks, racks }));
  if (options.json) printJson(schedule, options, terminal);
  else if (rank !== undefined) printRank(schedule, rank, terminal);
  else printSchedule(schedule, options.format, terminal);
}

export function defineScheduleCommand(command: Command, session: Session): void {
  command
    .option(
      '-a, --algorithm <name>',
      'sequential, chain, binomial-tree, binomial-pipeline or hybrid',
      'binomial-pipeline',
    )
    .option('-n, --nodes <count>', 'members, the root included', '8')
    .option('-k, --blocks <count>', 'blocks of the message', '6')
    .option('--racks <list>', 'the rack of each member, root first: 0,0,1,1 (needed by hybrid)')
    .option('-r, --rank <rank>', 'list the transfers of one member, also of 100,000')
    .option(
      '-f, --format <format>',
      'draw: blocks received; table: with senders; steps: list of transfers',
      'draw',
    )
    .option('--json', 'one JSON document')
    .action((raw: unknown) => runSchedule(parseOptions(schema, raw), session.terminal));
  addHelpNotes(command, {
    about: [
      'A row is a member, a column a step, a cell the block which that member receives in that step.',
      'Member 0 is the root: it has the message. In a step a member sends at most one block and',
      'receives at most one, and sends only blocks that it had before the step.',
    ],
    examples: [
      ['rdmc schedule', 'the binomial pipeline among 8 members'],
      ['rdmc schedule -a chain', 'a chain, for comparison'],
      ['rdmc schedule -n 6 -k 4 -f table', 'with senders; any number of members works'],
      ['rdmc schedule -a hybrid -n 6 --racks 0,0,0,1,1,1', 'two racks of three'],
      ['rdmc schedule -n 100000 -k 64 -r 99999', 'one member of many'],
      ['rdmc schedule --json | jq .steps', 'for programs'],
    ],
  });
}
