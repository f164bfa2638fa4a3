/** The few messages of etcd version 3 (rpc.proto) that the store needs, in JSON. */
import { parseWholeNumber } from '@rdmc/common';
import {
  flag,
  list,
  mapped,
  openRecord,
  optional,
  pattern,
  type Shaped,
  text,
  withDefault,
} from '@rdmc/common/shapes';

/** Numbers are decimal strings, and are omitted when they are 0. */
const int64 = withDefault(
  mapped(pattern(/^\d+$/), (digits) => {
    const value = parseWholeNumber(digits, 0);
    if (value === undefined) throw new Error(`needed a number up to ${Number.MAX_SAFE_INTEGER}`);
    return value;
  }),
  0,
);
const bytes = withDefault(
  mapped(text(), (base64) => Buffer.from(base64, 'base64').toString()),
  '',
);

const keyValue = openRecord({ key: bytes, value: bytes, create_revision: int64, mod_revision: int64 });
export type EtcdKeyValue = Shaped<typeof keyValue>;

const range = openRecord({ kvs: withDefault(list(keyValue), []) });
const response = openRecord({ response_range: optional(range) });

export const transactionAnswer = openRecord({
  header: openRecord({ revision: int64 }),
  succeeded: withDefault(flag, false),
  responses: withDefault(list(response), []),
});
export type TransactionAnswer = Shaped<typeof transactionAnswer>;

export const leaseGrantAnswer = openRecord({ ID: text(), TTL: int64 });
/** The gateway wraps the messages of a stream. */
export const keepAliveAnswer = openRecord({ result: openRecord({ TTL: int64 }) });

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The end of the range of all keys with this prefix: the prefix with its last byte incremented. */
export function afterPrefix(prefix: string): string {
  const end = Buffer.from(prefix);
  // UTF-8 has no byte 0xff, so the last one can be incremented.
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
