import { expect, it, vi } from 'vitest';
import { ChannelMemory, ChannelWord, channelMemoryBytes } from '../src/layout/channel-memory.js';
import { TRANSPORTS } from './support/cluster.js';
import { type Member, startMembers } from './support/members.js';
import { regionOfLength } from './support/regions.js';

/** Time limit for a test that hangs. */
const LIMIT_MS = 120_000;

const KINDS = [{ mode: 'push' }, { mode: 'pull' }, { confirmation: 'per-request' }] as const;
const CASES = TRANSPORTS.flatMap((transport) => KINDS.map((kind) => [transport, kind] as const));

/** The last answer of the member's worker before it slept. */
function lastAnswer({ node }: Member): number | undefined {
  return node.counters().named['hipower.waitsForSolicited'];
}

it.each(CASES)(
  '%s: idle channels do not disable waiting for solicited completions, %j',
  async (transport, kind) => {
    const telling = { module: new URL('./support/telling-worker.mjs', import.meta.url) };
    const members = await startMembers(2, { 0: telling, 1: telling }, transport);
    const options = { channel: 'idle', slots: 4, slotBytes: 64, spinMs: 0, ...kind };
    const [requester, responder] = await Promise.all([
      members[0]!.node.createRequester({ ...options, to: 1 }),
      members[1]!.node.createResponder({ ...options, from: 0 }),
    ]);
    const received = responder[Symbol.asyncIterator]();
    for (let number = 0; number < 10; number += 1) {
      // Both sides sleep: the following calls must wake them.
      await vi.waitFor(() => expect(members.map(lastAnswer)).toEqual([1, 1]), { timeout: LIMIT_MS });
      await requester.write(Uint8Array.of(number));
      const { value: message } = await received.next();
      expect([...message!.bytes]).toEqual([number]);
      // Also a requester that waits for a release.
      const drained = requester.drain();
      await vi.waitFor(() => expect(lastAnswer(members[0]!)).toBe(1), { timeout: LIMIT_MS });
      message!.release();
      await drained;
    }
    await Promise.all([requester.end(), received.next()]);
    await responder.close();
  },
);

it('a worker that looks anyway is not kicked for slots that are committed meanwhile', async () => {
  const members = await startMembers(2, {});
  const options = { channel: 'looking', slots: 4, slotBytes: 64, refreshThreshold: 1, spinMs: 600_000 };
  const [requester, responder] = await Promise.all([
    members[0]!.node.createRequester({ ...options, to: 1 }),
    members[1]!.node.createResponder({ ...options, from: 0 }),
  ]);
  // It is not released: the requester's worker keeps looking for the release.
  await requester.write(Uint8Array.of(1));
  // The worker has taken it, and has cleared the kick.
  expect(await responder.readable()).toBe(true);
  const region = regionOfLength(members[0]!.node.device, channelMemoryBytes(options.slots, 1));
  const { words } = new ChannelMemory(region.view(), options.slots, 1);
  await vi.waitFor(() => expect(Atomics.load(words, ChannelWord.KICKED)).toBe(1), {
    timeout: LIMIT_MS,
    interval: 1,
  });
  await requester.write(Uint8Array.of(2));
  const received = responder[Symbol.asyncIterator]();
  for (const expected of [1, 2]) {
    const { value: message } = await received.next();
    expect([...message!.bytes]).toEqual([expected]);
    message!.release();
  }
  await Promise.all([requester.end(), received.next()]);
  await responder.close();
});
