/** What members ask the coordinator, as requests of the mesh under one topic. */
import { z } from 'zod';
import { u32, u64 } from '../rpc/messages.js';

export const COORDINATOR_TOPIC = 'tailwind.coordinator';

export const coordinatorRequest = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('cluster') }),
  z.strictObject({ op: z.literal('create-log') }),
  /** The log that was created holds nothing, and nobody will write it. */
  z.strictObject({ op: z.literal('abandon-log'), logId: u64 }),
  z.strictObject({ op: z.literal('logs') }),
  z.strictObject({ op: z.literal('log'), logId: u64 }),
  z.strictObject({ op: z.literal('raise'), logId: u64, segmentId: u64, epoch: u32 }),
  z.strictObject({ op: z.literal('lease'), logId: u64 }),
  /** Answered when the lease of the log's primary has run out. */
  z.strictObject({ op: z.literal('begin-recovery'), logId: u64 }),
  /** Lets another member try, by the attempt's number, as `begin-recovery` answered. */
  z.strictObject({ op: z.literal('give-up-recovery'), logId: u64, attempt: u32 }),
  z.strictObject({ op: z.literal('finish-recovery'), logId: u64, attempt: u32, successors: z.array(u64) }),
]);
export type CoordinatorRequest = z.output<typeof coordinatorRequest>;

export const clusterAnswer = z.object({ clusterId: z.uuid() });
export const leaseAnswer = z.object({ leaseMs: z.number().positive() });
