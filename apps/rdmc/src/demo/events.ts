/** The lines of `rdmc demo --json`, one event each. */
import { algorithms } from '@rdmc/schedule';
import * as z from 'zod';

const member = z.number().int();
const seconds = z.number().nonnegative();

/** One algorithm's result with warm buffers. */
export const measurement = z.strictObject({
  algorithm: z.enum(algorithms),
  /** Blocks of the message and steps of the schedule. */
  blocks: z.number().int(),
  steps: z.number().int(),
  rounds: z.number().int(),
  /** Median, from the submission at the root until the slowest receiver had the message. */
  seconds,
  fastestSeconds: seconds,
  slowestSeconds: seconds,
  /** Bytes delivered to all receivers together, per second. */
  deliveredBytesPerSecond: z.number(),
  /** `seconds` divided by the time of the same message to one receiver. */
  timesOneCopy: z.number(),
});
export type Measurement = z.infer<typeof measurement>;

/** The schema of a line of `rdmc demo --json`. */
export const demoEvent = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('begun'),
    file: z.string(),
    byteLength: z.number().int(),
    members: z.number().int(),
    folder: z.string(),
  }),
  z.strictObject({ event: z.literal('started'), member, pid: z.number().int() }),
  z.strictObject({
    event: z.literal('joined'),
    device: z.string(),
    deviceReason: z.string(),
    transport: z.enum(['shm', 'tcp', 'roce', 'infiniband']),
    transportReason: z.string(),
    /** Bits per second of each direction of each member's link; null: as fast as the machine or the device. */
    linkBitsPerSecond: z.number().int().nullable(),
    algorithm: z.enum(algorithms),
    blockBytes: z.number().int(),
    blocks: z.number().int(),
    steps: z.number().int(),
  }),
  z.strictObject({ event: z.literal('received'), member, seconds }),
  z.strictObject({
    event: z.literal('verified'),
    member,
    path: z.string(),
    sha256: z.string(),
    ok: z.boolean(),
  }),
  /** The same message to one receiver, over the same links. */
  z.strictObject({ event: z.literal('copied'), oneCopySeconds: seconds }),
  z.strictObject({ event: z.literal('measured'), ...measurement.shape }),
  z.strictObject({
    event: z.literal('finished'),
    ok: z.literal(true),
    sha256: z.string(),
    seconds,
    explanation: z.string(),
    keptFolder: z.string().nullable(),
  }),
]);
/** One line of `rdmc demo --json`. */
export type DemoEvent = z.infer<typeof demoEvent>;
export type DemoEventOf<Name extends DemoEvent['event']> = Extract<DemoEvent, { event: Name }>;
