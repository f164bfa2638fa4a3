/** The lines of `rdmc receive --json`, one event each. */
import type { CastProblem } from '@rdmc/cast';
import * as z from 'zod';

const count = z.number().int().nonnegative();

/** An entry that did not arrive, and why. */
export const problem = z.strictObject({
  path: z.string(),
  code: z.string(),
  message: z.string(),
  /** The receiver that lacks it; null where the sender could not send it, so that all lack it. */
  receiver: z.string().nullable(),
});

/** What a receiver has not set of the attributes of an archive cast; null where it has set everything. */
export const unset = z
  .strictObject({
    accepted: z.boolean(),
    ...{ owners: count, modes: count, attributes: count },
    /** Why the first attribute could not be set: a code of the system. */
    attributeCode: z.string().optional(),
  })
  .nullable();

/**
 * The cast, its sender, and regular files and bytes: as announced; in `complete` and `failed` those that are stored.
 */
const facts = { castId: z.string(), from: z.string(), files: count, bytes: count };

/** Device and transports ('shm', 'tcp', 'roce', 'infiniband'), with the reasons for them. */
export const deviceRoute = {
  device: z.string(),
  reason: z.string(),
  gid: z.string().nullable(),
  transports: z.array(z.string()),
  transportReason: z.string(),
};

/** The schema of a line of `rdmc receive --json`. */
export const receiveEvent = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('listening'),
    host: z.string(),
    port: count,
    /** Null with --stdout and --shm. */
    directory: z.string().nullable(),
    /** The name given with --shm. */
    sharedMemory: z.string().nullable(),
    /** Whether senders need a key. */
    keyed: z.boolean(),
    pid: count,
    hostName: z.string(),
    version: z.string(),
    /** Addresses of this machine that other hosts may reach, likeliest first. */
    addresses: z.array(z.string()),
    /** The URL of the metrics, with --metrics. */
    metrics: z.string().nullable(),
  }),
  z.strictObject({
    /** With --clean: what interrupted casts had left, and bytes of that on disk. */
    event: z.literal('cleaned'),
    directory: z.string(),
    casts: count,
    bytes: count,
    /** Names of hidden directories that stay: their receivers may run in other containers or on other hosts. */
    elsewhere: z.array(z.string()),
  }),
  /** `encrypted`: whether files are encrypted on their way; `dryRun`: whether the sender only asks what a cast would change. */
  z.strictObject({ event: z.literal('began'), ...facts, encrypted: z.boolean(), dryRun: z.boolean() }),
  z.strictObject({ event: z.literal('route'), ...facts, ...deviceRoute }),
  z.strictObject({ event: z.literal('progress'), ...facts, receivedBytes: count, storedBytes: count }),
  z.strictObject({
    event: z.literal('complete'),
    ...facts,
    /** Whether this was a dry run, which has not changed anything. */
    dryRun: z.boolean(),
    directories: count,
    links: count,
    /** Of the stored bytes, those that came from older files here. */
    keptBytes: count,
    /** Bytes that an interrupted cast had left here, and that were not received again. */
    resumedBytes: count,
    unchangedFiles: count,
    unchangedBytes: count,
    removed: count,
    unset,
    seconds: z.number().nonnegative(),
    problems: z.array(problem),
    problemCount: count,
  }),
  z.strictObject({
    event: z.literal('failed'),
    ...facts,
    dryRun: z.boolean(),
    code: z.string(),
    message: z.string(),
  }),
]);
/** One line of `rdmc receive --json`. */
export type ReceiveEvent = z.infer<typeof receiveEvent>;
export type ReceiveEventOf<Name extends ReceiveEvent['event']> = Extract<ReceiveEvent, { event: Name }>;

export function problemEvent({ path, code, message, receiver }: CastProblem): z.infer<typeof problem> {
  return { path, code, message, receiver: receiver ?? null };
}
