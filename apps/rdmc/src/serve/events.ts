/** The lines of `rdmc serve --json`, one event each. */
import type { ServeEvent } from '@rdmc/cast';
import * as z from 'zod';

const count = z.number().int().nonnegative();

/** The fetch, its fetcher, the name that it asked for, and regular files and bytes below that name. */
const facts = { fetchId: z.string(), from: z.string(), name: z.string(), files: count, bytes: count };

/** The schema of a line of `rdmc serve --json`. */
export const serveEvent = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('listening'),
    host: z.string(),
    port: count,
    directory: z.string(),
    /** Whether fetchers need a key. */
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
    event: z.literal('began'),
    ...facts,
    /** Pieces of at most 1 MiB below the name, and those of them that the fetcher lacks. */
    pieces: count,
    lacking: count,
    /** Fetchers of the same name at this moment. */
    fetchers: count,
    encrypted: z.boolean(),
  }),
  z.strictObject({ event: z.literal('progress'), ...facts, storedBytes: count }),
  z.strictObject({
    event: z.literal('sent'),
    name: z.string(),
    fetchers: count,
    pieces: count,
    bytes: count,
    /** The fetcher that sent them in the place of the server. */
    leader: z.string().optional(),
  }),
  z.strictObject({
    event: z.literal('complete'),
    ...facts,
    storedFiles: count,
    storedBytes: count,
    problemCount: count,
    seconds: z.number().nonnegative(),
  }),
  z.strictObject({ event: z.literal('failed'), ...facts, code: z.string(), message: z.string() }),
]);
/** One line of `rdmc serve --json`. */
export type ServeLine = z.infer<typeof serveEvent>;
export type ServeLineOf<Name extends ServeLine['event']> = Extract<ServeLine, { event: Name }>;

export function toLine({ type, ...fields }: ServeEvent): ServeLine {
  return { event: type, ...fields } as ServeLine;
}
