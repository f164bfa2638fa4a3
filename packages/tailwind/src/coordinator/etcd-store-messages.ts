/** The few messages of etcd version 3 (rpc.proto) that the store needs, in JSON. */
import { z } from 'zod';

/** Numbers travel as decimal strings and are left out when they are 0. */
const int64 = z
  .string()
  .regex(/^\d+$/)
  .transform(Number)
  .pipe(z.number().int().min(0).max(Number.MAX_SAFE_INTEGER))
  .default(0);
const bytes = z
  .string()
  .default('')
  .transform((text) => Buffer.from(text, 'base64').toString());

const keyValue = z.object({ key: bytes, value: bytes, create_revision: int64, mod_revision: int64 });
export type EtcdKeyValue = z.output<typeof keyValue>;

const range = z.object({ kvs: z.array(keyValue).default([]) });
const response = z.object({ response_range: range.optional() });

export const transactionAnswer = z.object({
  header: z.object({ revision: int64 }),
  succeeded: z.boolean().default(false),
  responses: z.array(response).default([]),
});
export type TransactionAnswer = z.output<typeof transactionAnswer>;

export const leaseGrantAnswer = z.object({ ID: z.string(), TTL: int64 });
/** The gateway wraps what a stream says. */
export const keepAliveAnswer = z.object({ result: z.object({ TTL: int64 }) });

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The end of the range of all keys that begin so: the prefix with its last byte raised. */
export function afterPrefix(prefix: string): string {
  const end = Buffer.from(prefix);
  // UTF-8 has no byte 0xff, so the last one can be raised.
  end[end.length - 1]! += 1;
  return end.toString('base64');
}

export function hasCreateRevision(key: string, revision: number): object {
  return { key: base64(key), target: 'CREATE', result: 'EQUAL', create_revision: String(revision) };
}

export function hasModRevision(key: string, revision: number): object {
  return { key: base64(key), target: 'MOD', result: 'EQUAL', mod_revision: String(revision) };
}

export function readKey(key: string): object {
  return { request_range: { key: base64(key) } };
}

export function readPrefix(prefix: string): object {
  return { request_range: { key: base64(prefix), range_end: afterPrefix(prefix) } };
}

export function writeKey(key: string, value: string, lease?: string): object {
  return { request_put: { key: base64(key), value: base64(value), ...(lease !== undefined && { lease }) } };
}
