/** The lines of `rdmc cast --json`, one event each. */
import { algorithms } from '@rdmc/schedule';
import * as z from 'zod';
import { deviceRoute, problem, unset } from '../receive/events.js';

const count = z.number().int().nonnegative();
const algorithm = z.enum(algorithms);

const failure = { code: z.string().nullable(), message: z.string().nullable() };

/** The address of a receiver; `name` is `host:port` as given. */
const place = { name: z.string(), host: z.string(), port: count };

/** The schema of the event of a plan. */
export const castPlan = z.strictObject({
  event: z.literal('plan'),
  paths: z.array(z.string()),
  receivers: z.array(z.strictObject({ ...place, address: z.string(), rack: z.string().nullable() })),
  files: count,
  directories: count,
  links: count,
  bytes: count,
  /** Bytes to send: as `bytes`, without holes of sparse files. */
  contentBytes: count,
  problems: z.array(problem),
  problemCount: count,
  algorithm,
  algorithmReason: z.string(),
  blockReason: z.string(),
  /** Estimates: number and size of messages, and of blocks. */
  messages: count,
  messageBytes: count,
  blockBytes: count,
  blocks: count,
  steps: count,
  /** Steps of all messages divided by blocks: the time relative to one copy to one receiver, if links are the limit. */
  timesOneCopy: z.number(),
  /** With --bandwidth-limit: the least number of seconds. */
  seconds: z.number().nullable(),
});
/** The event of a plan: what `rdmc cast --dry-run --json` prints. */
export type CastPlan = z.infer<typeof castPlan>;

/** The schema of a line of `rdmc cast --json`. */
export const castEvent = z.discriminatedUnion('event', [
  castPlan,
  z.strictObject({
    event: z.literal('begun'),
    paths: z.array(z.string()),
    receivers: z.array(z.strictObject({ ...place, rack: z.string().nullable() })),
  }),
  /** With --ssh: a receiver listens. */
  z.strictObject({ event: z.literal('started'), ...place, pid: count, hostName: z.string() }),
  z.strictObject({
    event: z.literal('route'),
    ...deviceRoute,
    algorithm: z.string(),
    algorithmReason: z.string(),
    blockReason: z.string(),
    messageBytes: count,
    blockBytes: count,
    address: z.string(),
    /** Whether files are encrypted on their way. */
    encrypted: z.boolean(),
    /** How contents are compressed: 'zstd', 'deflate', or null. */
    compression: z.enum(['zstd', 'deflate']).nullable(),
  }),
  z.strictObject({
    event: z.literal('progress'),
    phase: z.enum(['preparing', 'connecting', 'sending', 'finishing', 'done']),
    attempt: count,
    totalBytes: count,
    totalFiles: count,
    sentBytes: count,
    /** Bytes that are not sent, because receivers take them from their older files. */
    keptBytes: count,
    receivers: z.array(
      z.strictObject({
        name: z.string(),
        state: z.string(),
        receivedBytes: count,
        storedBytes: count,
        /** Bytes that an interrupted cast had left there. */
        resumedBytes: count,
      }),
    ),
  }),
  /** With --wait-for or --join-window: a receiver has answered; `here`: how many have, and have not been lost. */
  z.strictObject({
    event: z.literal('joined'),
    name: z.string(),
    hostName: z.string().nullable(),
    here: count,
  }),
  /** A receiver is complete, or failed. A retry may follow `failed`. */
  z.strictObject({
    event: z.literal('receiver'),
    name: z.string(),
    state: z.enum(['complete', 'failed']),
    ...failure,
  }),
  /** Of a dry run: what a cast would change at a receiver. */
  z.strictObject({
    event: z.literal('change'),
    receiver: z.string(),
    change: z.enum(['create', 'replace', 'attributes', 'remove']),
    kind: z.enum(['file', 'directory', 'link', 'other']),
    path: z.string(),
    bytes: count,
  }),
  z.strictObject({
    event: z.literal('finished'),
    outcome: z.enum(['all', 'partial', 'none']),
    exitCode: count,
    files: count,
    directories: count,
    links: count,
    bytes: count,
    /** Of these, what was sent; the rest was at the receivers. With --dry-run: what would be sent. */
    sentFiles: count,
    sentBytes: count,
    /** Bytes of contents that were sent: of `sentBytes`, without holes and without blocks that receivers had. */
    transferredBytes: count,
    /** With --compress: what these bytes took; else null. */
    compressedBytes: count.nullable(),
    /** Whether files were encrypted on their way. */
    encrypted: z.boolean(),
    seconds: z.number().nonnegative(),
    receivers: z.array(
      z.strictObject({
        ...place,
        state: z.enum(['complete', 'failed']),
        attempts: count,
        files: count,
        bytes: count,
        /** Of these bytes, those that it took from its older files. */
        keptBytes: count,
        /** Bytes that an interrupted cast had left there, and that were not sent again. */
        resumedBytes: count,
        unchangedFiles: count,
        unchangedBytes: count,
        removed: count,
        unset,
        ...failure,
      }),
    ),
    problems: z.array(problem),
    problemCount: count,
  }),
]);
/** One line of `rdmc cast --json`. */
export type CastEvent = z.infer<typeof castEvent>;
export type CastEventOf<Name extends CastEvent['event']> = Extract<CastEvent, { event: Name }>;
