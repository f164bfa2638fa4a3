import assert from 'node:assert/strict';
import type { Cluster } from './cluster.js';
import type { MemberProcess } from './member-process.js';
import type { Closed, Outcome, RemoteError } from './member-types.js';
import type { Content } from './stream.js';

/**
 * Options of nodes and groups with which no time-out brings the news of a death: connections that end do, or the test
 * hangs. How long that takes is the machine's business.
 */
export const NEWS_BY_CONNECTIONS = {
  node: { silenceTimeoutMs: 0 },
  group: { retryTimeoutMs: 600_000 },
} as const;

/** Every message a member was given by a group is the right one, and they came in order, without a gap. */
export function expectOrderedAndExact(member: MemberProcess, group: number): number {
  const messages = member.messages(group);
  assert.deepEqual(
    messages.map(({ number }) => number),
    messages.map((_, index) => index),
    `order of the messages at member ${member.id}`,
  );
  for (const { number, differsAt } of messages) {
    assert.equal(differsAt, -1, `content of message ${number} at member ${member.id}`);
  }
  return messages.length;
}

/** Ways that one of the things waited for ended: well. */
export function expectWell(outcomes: readonly Outcome[]): void {
  for (const { error } of outcomes) assert.equal(error, null);
}

/** An error that says who was lost, in time where that is asked. */
export function expectLost(error: RemoteError | null | undefined, lost: number): void {
  const { code, memberId } = error ?? {};
  assert.deepEqual({ code, memberId }, { code: 'ERR_RDMC_MEMBER_LOST', memberId: lost }, error?.message);
  assert.match(error!.message, new RegExp(`member ${lost}\\b`));
}

/** Survivors make a group in the processes they are, transfer, compare, and close it well. */
export async function transferAmong(
  cluster: Cluster,
  ids: readonly number[],
  id: number,
  options: object = {},
): Promise<void> {
  const stream: Content = { seed: 7_000 + id, variants: 2 };
  await cluster.createGroup(id, ids, { expect: stream, ...options });
  const [root, ...receivers] = ids.map((each) => cluster.at(each));
  const byteLength = 3 * 1024 * 1024 + 1;
  const sent = await root!.call<Outcome[]>('send', { group: id, byteLength, count: 3, ...stream });
  expectWell(sent);
  const closed = await cluster.all(
    (member) => member.call<Closed>('close', { group: id }),
    [root!, ...receivers],
  );
  expectWell(closed);
  for (const receiver of receivers) {
    await receiver.event('end', ({ group }) => group === id);
    assert.equal(expectOrderedAndExact(receiver, id), 3);
  }
}
