/** What `rdmc receive --json` prints: one of these per line. */
import type { CastProblem } from '@rdmc/cast';
import * as z from 'zod';

const count = z.number().int().nonnegative();

/** An entry that did not arrive, and why. */
export const problem = z.strictObject({
  path: z.string(),
  code: z.string(),
  message: z.string(),
  /** The receiver that lacks it; null: the sender could not send it, so all do. */
  receiver: z.string().nullable(),
});

/** The cast, who sends it, and regular files and bytes: announced ones, or in `complete` and `failed` those stored. */
const facts = { castId: z.string(), from: z.string(), files: count, bytes: count };

/** What blocks travel by ('shm', 'tcp', 'roce', 'infiniband'), and why. */
export const deviceRoute = {
  device: z.string(),
  reason: z.string(),
  gid: z.string().nullable(),
  transports: z.array(z.string()),
  transportReason: z.string(),
};

export const receiveEvent = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('listening'),
    host: z.string(),
    port: count,
    directory: z.string(),
    /** Whether senders must have a key. */
    keyed: z.boolean(),
    pid: count,
    hostName: z.string(),
    version: z.string(),
    /** Addresses of this machine at which others may reach it, likeliest first. */
    addresses: z.array(z.string()),
  }),
  z.strictObject({ event: z.literal('began'), ...facts }),
  z.strictObject({ event: z.literal('route'), ...facts, ...deviceRoute }),
  z.strictObject({ event: z.literal('progress'), ...facts, receivedBytes: count, storedBytes: count }),
  z.strictObject({
    event: z.literal('complete'),
    ...facts,
    directories: count,
    links: count,
    seconds: z.number().nonnegative(),
    problems: z.array(problem),
    problemCount: count,
  }),
  z.strictObject({ event: z.literal('failed'), ...facts, code: z.string(), message: z.string() }),
]);
export type ReceiveEvent = z.infer<typeof receiveEvent>;
export type ReceiveEventOf<Name extends ReceiveEvent['event']> = Extract<ReceiveEvent, { event: Name }>;

export function problemEvent({ path, code, message, receiver }: CastProblem): z.infer<typeof problem> {
  return { path, code, message, receiver: receiver ?? null };
}
