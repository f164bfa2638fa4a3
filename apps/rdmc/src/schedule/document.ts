import { algorithms, type Schedule } from '@rdmc/schedule';
import * as z from 'zod';

const transfer = z.object({
  step: z.number().int(),
  from: z.number().int(),
  to: z.number().int(),
  block: z.number().int(),
});

const head = {
  algorithm: z.enum(algorithms),
  nodes: z.number().int(),
  blocks: z.number().int(),
  steps: z.number().int(),
  racks: z.array(z.union([z.string(), z.number()])).nullable(),
};

/** The document of `rdmc schedule --json`. */
export const scheduleDocument = z.strictObject({ ...head, transfers: z.array(transfer) });
/** What `rdmc schedule --json` prints. */
export type ScheduleDocument = z.infer<typeof scheduleDocument>;

/** The document of `rdmc schedule --rank R --json`. */
export const rankDocument = z.strictObject({
  ...head,
  rank: z.number().int(),
  firstFrom: z.number().int().nullable(),
  sends: z.array(transfer),
  receives: z.array(transfer),
});
/** What `rdmc schedule --rank R --json` prints. */
export type RankDocument = z.infer<typeof rankDocument>;

function headOf({ algorithm, nodes, blocks, steps, racks }: Schedule) {
  return { algorithm, nodes, blocks, steps, racks: racks ? [...racks] : null };
}

export function toScheduleDocument(schedule: Schedule): ScheduleDocument {
  return { ...headOf(schedule), transfers: [...schedule.transfers()] };
}

export function toRankDocument(schedule: Schedule, rank: number): RankDocument {
  const firstFrom = schedule.neighbours(rank).firstFrom ?? null;
  return { ...headOf(schedule), rank, firstFrom, ...schedule.rank(rank) };
}
