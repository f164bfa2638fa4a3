import type { RdmcNode } from '@rdmc/group';
import { expect, it } from 'vitest';
import { KIB, MESSAGE_BUFFERS } from '../src/constants.js';
import { MessageBuffers } from '../src/receiver/message-buffers.js';

it('a group that ends while a buffer is allocated leaves the next one as many buffers', async () => {
  let allocations = 0;
  const allocate = async (_bytes: number, options?: { readonly signal?: AbortSignal }) => {
    options?.signal?.throwIfAborted();
    allocations += 1;
    return {};
  };
  const buffers = new MessageBuffers({ allocate } as unknown as RdmcNode, KIB);
  await buffers.prepare();
  const take = (signal: AbortSignal) => buffers.incoming(KIB, { signal });
  const ended = AbortSignal.abort();
  const [first, second] = await Promise.allSettled([take(ended), take(ended)]);
  expect([first.status, second.status]).toEqual(['fulfilled', 'rejected']);
  buffers.reclaim();

  const next = new AbortController();
  const taken = Promise.allSettled(Array.from({ length: MESSAGE_BUFFERS + 1 }, () => take(next.signal)));
  // All that need not wait for a buffer have one by then.
  await new Promise(setImmediate);
  next.abort();
  const ends = (await taken).map(({ status }) => status);
  expect(ends).toEqual([...new Array(MESSAGE_BUFFERS).fill('fulfilled'), 'rejected']);
  expect(allocations).toBe(MESSAGE_BUFFERS);
});
