/** The lines of `rdmc fetch --json`, one event each. */
import type { FetchProgress, FetchSummary } from '@rdmc/cast';
import * as z from 'zod';
import { problem, problemEvent } from '../receive/events.js';

const count = z.number().int().nonnegative();

/** The schema of a line of `rdmc fetch --json`. */
export const fetchEvent = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('progress'),
    phase: z.enum(['connecting', 'comparing', 'receiving', 'finishing', 'serving', 'done']),
    /** Bytes of pieces that were missing here, and those of them that are stored. */
    totalBytes: count,
    storedBytes: count,
    /** Members of the current group, the server included; 0 between groups. */
    members: count,
  }),
  z.strictObject({
    event: z.literal('finished'),
    exitCode: count,
    /** Root hash of what was fetched, in hexadecimal. */
    root: z.string(),
    files: count,
    bytes: count,
    directories: count,
    receivedBytes: count,
    unchangedFiles: count,
    unchangedBytes: count,
    keptBytes: count,
    /** Bytes that fetches and casts that ended early had left here. */
    resumedBytes: count,
    /** Links and special files, which are not served. */
    skipped: count,
    encrypted: z.boolean(),
    seconds: z.number().nonnegative(),
    problems: z.array(problem),
    problemCount: count,
  }),
]);
/** One line of `rdmc fetch --json`. */
export type FetchEvent = z.infer<typeof fetchEvent>;

export function progressLine({ phase, totalBytes, storedBytes, members }: FetchProgress): FetchEvent {
  return { event: 'progress', phase, totalBytes, storedBytes, members };
}

export function finishedLine({ problems, ...summary }: FetchSummary, exitCode: number): FetchEvent {
  return { event: 'finished', exitCode, ...summary, problems: problems.map(problemEvent) };
}
