import { flag, list, openRecord, optional, text, tryShape } from '@rdmc/common/shapes';
import type { EtcdClient } from './etcd-store-client.js';
import { base64 } from './etcd-store-messages.js';

/** One message of the stream: the gateway writes each on a line of its own. A put has no type, which is its default. */
const watchMessage = openRecord({
  result: openRecord({
    canceled: optional(flag),
    events: optional(list(openRecord({ type: optional(text()) }))),
  }),
});

/**
 * Resolves with true when the key was deleted at a revision or later, and with false when the watch ended for another reason.
 * @param revision the first one that counts
 * @param signal ends the watch
 */
export async function deletionOf(
  client: EtcdClient,
  key: string,
  revision: number,
  signal: AbortSignal,
): Promise<boolean> {
  let isDeleted = false;
  const request = { create_request: { key: base64(key), start_revision: String(revision) } };
  await client.stream('/v3/watch', request, signal, (line) => {
    const { result } = tryShape(watchMessage, JSON.parse(line)) ?? {};
    if (result === undefined || result.canceled) return true;
    isDeleted = (result.events ?? []).some(({ type }) => type === 'DELETE');
    return isDeleted;
  });
  return isDeleted;
}
