import { remoteKey } from '@rdmc/verbs';
/** Messages between the two processes of a point-to-point benchmark, over IPC. */
import * as z from 'zod';

const count = z.number().int().nonnegative();
const address = z.looseObject({ kind: z.string(), version: z.number(), queuePair: z.number() });
const remote = z.strictObject({ address: count, rkey: count.transform(remoteKey) });

/** To the peer. */
export const pairCommand = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('connect'), address }),
  /** Receive `messages` SENDs of `byteLength`. */
  z.strictObject({ type: z.literal('take'), messages: count, byteLength: count }),
  /** Answer `rounds` WRITEs or SENDs of `byteLength` with one of the same kind. */
  z.strictObject({
    type: z.literal('answer'),
    operation: z.enum(['write', 'send']),
    rounds: count,
    byteLength: count,
    remote,
  }),
]);
export type PairCommand = z.infer<typeof pairCommand>;

/** From the peer. */
export const pairReport = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('ready'), address, remote }),
  z.strictObject({ type: z.literal('connected') }),
  /** About to enter its loop; receives are posted. */
  z.strictObject({ type: z.literal('running') }),
  z.strictObject({ type: z.literal('done') }),
  z.strictObject({ type: z.literal('failed'), code: z.string(), message: z.string() }),
]);
export type PairReport = z.infer<typeof pairReport>;
export type PairReportOf<Type extends PairReport['type']> = Extract<PairReport, { type: Type }>;
