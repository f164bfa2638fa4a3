/** The messages of servers and coordinator on the mesh. Log ids are text, because JSON does not have 64-bit numbers. */
import { z } from 'zod';
import { SLOTS } from '../limits.js';

/** The coordinator's id; servers have 1, 2, … */
export const COORDINATOR = 0;

export const Topic = {
  /** server → coordinator: this is my log */
  REGISTER: 'kv.register',
  /** coordinator → all: who serves what */
  TABLE: 'kv.table',
  /** coordinator → one server: recover a log, and hand its keys to these */
  TAKEOVER: 'kv.takeover',
  /** recovering server → coordinator: I am the only one who can end this recovery now; may I? */
  PLAN: 'kv.plan',
  /** recovering server → others: that was all; answered when it is durable */
  IMPORTED: 'kv.imported',
  /** coordinator → others: forget what you got */
  ABANDON: 'kv.abandon',
} as const;

const slot = z
  .number()
  .int()
  .min(0)
  .max(SLOTS - 1);
const member = z.number().int();
const logId = z.string().regex(/^\d{1,20}$/);
const takeover = z.number().int().min(0);

export const registerMessage = z.object({ logId });
export const tableMessage = z.object({
  epoch: z.number().int(),
  ranges: z.array(z.tuple([slot, slot, member])),
});
/** A part of a dead server's slots, and the server and log that get it. */
const share = z.object({ member, logId, ranges: z.array(z.tuple([slot, slot])) });
export const takeoverMessage = z.object({ takeover, logId, shares: z.array(share) });
export const takeoverAnswer = z.object({ entries: z.number(), milliseconds: z.number() });
export const planMessage = z.object({ takeover });
/** `session` names the connection that the frames came on. */
export const importedMessage = z.object({ takeover, frames: z.number().int(), session: z.string() });
export const abandonMessage = z.object({ takeover, ranges: z.array(z.tuple([slot, slot])) });

export type Share = z.output<typeof share>;
export type TakeoverMessage = z.output<typeof takeoverMessage>;
