/** The documents of `rdmc bench … --json`. */
import { algorithms } from '@rdmc/schedule';
import * as z from 'zod';

const count = z.number().int().nonnegative();
const positive = z.number().nonnegative();
const operation = z.enum(['write', 'send', 'read']);
const transport = z.enum(['shm', 'tcp', 'roce', 'infiniband']);
/** `soft`, or the name of an RDMA device. */
const device = z.string();

/** `rdmc bench bandwidth` and `rdmc bench rate`. */
export const streamDocument = z.strictObject({
  benchmark: z.enum(['bandwidth', 'rate']),
  operation,
  device,
  transport,
  results: z.array(
    z.strictObject({
      byteLength: count,
      messages: count,
      peakBytesPerSecond: positive,
      bytesPerSecond: positive,
      messagesPerSecond: positive,
    }),
  ),
});
/** What `rdmc bench bandwidth --json` and `rate --json` print. */
export type StreamDocument = z.infer<typeof streamDocument>;

/** `rdmc bench latency`; times in seconds, one way for write and send. */
export const latencyDocument = z.strictObject({
  benchmark: z.literal('latency'),
  operation,
  device,
  transport,
  results: z.array(
    z.strictObject({
      byteLength: count,
      rounds: count,
      minimum: positive,
      median: positive,
      average: positive,
      p99: positive,
      p999: positive,
      maximum: positive,
    }),
  ),
});
/** What `rdmc bench latency --json` prints. */
export type LatencyDocument = z.infer<typeof latencyDocument>;

/** `rdmc bench multicast`; times in seconds, from the submission until the slowest receiver has the last message. */
export const multicastDocument = z.strictObject({
  benchmark: z.literal('multicast'),
  device,
  transport,
  results: z.array(
    z.strictObject({
      members: count,
      byteLength: count,
      algorithm: z.enum(algorithms),
      blockBytes: count,
      blocks: count,
      steps: count,
      burst: count,
      rounds: count,
      seconds: positive,
      fastestSeconds: positive,
      slowestSeconds: positive,
      /** Until the first receiver has the last message, and from then until the last one has it: medians. */
      firstReceiverSeconds: positive,
      skewSeconds: positive,
      /** The member that was last most often. */
      mostOftenLast: count,
      messagesPerSecond: positive,
      deliveredBytesPerSecond: positive,
      oneCopySeconds: positive,
      timesOneCopy: positive,
    }),
  ),
});
/** What `rdmc bench multicast --json` prints. */
export type MulticastDocument = z.infer<typeof multicastDocument>;
