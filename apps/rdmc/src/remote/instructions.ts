/*
 * The protocol between `rdmc cast --ssh` and the `rdmc receive --controlled` that it starts.
 *
 *   to the receiver's stdin    one line, a JSON document (`instructions`); the end of stdin ends the receiver
 *   from the receiver's stdout JSON lines (`receiveEvent`), of which `listening` is the first; last an error, if any
 *   from the receiver's stderr text for people
 *
 * All instructions go through stdin: nothing on the command line must be quoted for the shells in between, and other
 * users cannot see the key.
 */
import * as z from 'zod';

/** Incremented when an older receiver could misread the instructions. */
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
  /** Older senders do not send it. */
  fsync: z.boolean().default(true),
  archive: z.boolean().default(false),
  meshPorts: z.tuple([port, port]).nullable(),
  device: z.string(),
  transport: z.enum(['auto', 'shm', 'tcp']),
});
export type Instructions = z.infer<typeof instructions>;
