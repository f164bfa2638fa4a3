/*
 * What `rdmc cast --ssh` and the `rdmc receive --controlled` it starts say to each other.
 *
 *   to the receiver's stdin    one line, a JSON document (`instructions`); then nothing, and its end ends the receiver
 *   from the receiver's stdout JSON lines (`receiveEvent`), of which `listening` is the first; last an error, if any
 *   from the receiver's stderr text for people
 *
 * All of it goes through stdin: nothing on the command line must be quoted for the shells on the way, and the key is
 * seen by nobody.
 */
import * as z from 'zod';

/** Raised when a receiver of before could misunderstand. */
export const INSTRUCTIONS_VERSION = 1;

const port = z.number().int().min(0).max(65_535);

export const instructions = z.object({
  version: z.number().int(),
  /** Hexadecimal. */
  key: z.string(),
  host: z.string(),
  port,
  directory: z.string().min(1),
  makeDirectory: z.boolean(),
  once: z.boolean(),
  /** Senders of before do not say it. */
  fsync: z.boolean().default(true),
  meshPorts: z.tuple([port, port]).nullable(),
  device: z.string(),
  transport: z.enum(['auto', 'shm', 'tcp']),
});
export type Instructions = z.infer<typeof instructions>;
