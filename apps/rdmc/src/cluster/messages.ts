/** Messages between the command and the processes that it starts, as JSON over Node's IPC channel. */
import { algorithms } from '@rdmc/schedule';
import * as z from 'zod';

const count = z.number().int().nonnegative();

/** To a member. */
export const command = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('join'),
    id: count,
    members: z.array(z.strictObject({ id: count, host: z.string(), port: count })),
    device: z.string(),
    transport: z.enum(['auto', 'shm', 'tcp']),
    /** Bits per second of each direction of the member's link. */
    linkRate: z.number().int().optional(),
    /** The file of the member's trace. */
    trace: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal('open'),
    group: count,
    members: z.array(count),
    algorithm: z.enum(algorithms),
    blockBytes: z.union([z.literal('auto'), count]),
    /** `received` is reported once per this number of messages, for the last of them. */
    reportEvery: z.number().int().positive(),
    /** Whether `progress` is reported. */
    progress: z.boolean(),
  }),
  /** Write the last received message to a file. */
  z.strictObject({ type: z.literal('store'), path: z.string() }),
  /** Close all groups and leave. */
  z.strictObject({ type: z.literal('leave') }),
]);
export type Command = z.infer<typeof command>;

/** From a member. */
export const report = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('listening'), port: count }),
  z.strictObject({ type: z.literal('joined') }),
  z.strictObject({ type: z.literal('opened'), group: count }),
  z.strictObject({ type: z.literal('progress'), group: count, bytesReceived: count }),
  z.strictObject({
    type: z.literal('received'),
    group: count,
    number: count,
    byteLength: count,
    /** CLOCK_MONOTONIC in nanoseconds, which all processes of a host share. */
    at: z.string().regex(/^\d+$/),
  }),
  z.strictObject({ type: z.literal('storing'), bytesWritten: count }),
  z.strictObject({ type: z.literal('stored'), path: z.string() }),
  z.strictObject({ type: z.literal('left') }),
  z.strictObject({ type: z.literal('failed'), code: z.string(), message: z.string() }),
]);
export type Report = z.infer<typeof report>;
export type ReportOf<Type extends Report['type']> = Extract<Report, { type: Type }>;
