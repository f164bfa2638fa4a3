import { afterEach, describe, expect, it } from 'vitest';
import { Cluster, endClusters, over } from '../src/cluster.js';
import { LONG } from '../src/long.js';
import type { MemberProcess } from '../src/member-process.js';
import type { Closed } from '../src/member-types.js';
import { expectLost, expectOrderedAndExact, transferAmong } from '../src/proof.js';
import { type Stream, startStream } from '../src/stream.js';

const GROUP = 1;
const IDS = [0, 1, 2, 3];
const MIB = 1024 * 1024;
const QUIET_MS = 300;
/** Between who stopped and who waits for it, nothing counts as too long but what a test is about. */
const NEVER_MS = 600_000;
const patientGroup = { retryTimeoutMs: NEVER_MS };
const stream = { options: patientGroup, group: GROUP, ids: IDS, seed: 300, variants: 3, byteLength: 4 * MIB };

afterEach(endClusters);

/** Stops a member in the middle of a stream, and waits until that has brought the others to a halt. */
async function stop({ cluster, options: { group } }: Stream, id: number): Promise<void> {
  cluster.at(id).signal('SIGSTOP');
  await cluster.all((member) => member.call('stalled', { group, quietMs: QUIET_MS }), cluster.except(id));
}

async function expectAllArrived({ cluster, sends, options: { group, count } }: Stream): Promise<void> {
  for (const { error } of await sends) expect(error).toBeNull();
  for (const { error } of await cluster.all((member) => member.call<Closed>('close', { group }))) {
    expect(error).toBeNull();
  }
  for (const receiver of cluster.except(0)) {
    await receiver.event('end', (event) => event.group === group && event.error === null);
    expect(expectOrderedAndExact(receiver, group)).toBe(count);
  }
}

function failuresSeenBy(members: readonly MemberProcess[]): unknown[] {
  return members.flatMap(({ events }) => events.filter(({ event }) => event === 'memberFailed'));
}

/** Who is stopped for too long; RDMC_TEST_LONG=1: also a relay whose worker relays. */
const TOO_LONG = [
  ['the root', 0, 'shm', 'worker'],
  ['a relay', 1, 'tcp', 'device'],
  ...(LONG ? [['a relay', 1, 'shm', 'worker'] as const] : []),
] as const;

describe('a member that is stopped (SIGSTOP) in the middle of a transfer', () => {
  it.each([
    ['the root, then a receiver', [0, 2], 'shm'],
    ['a receiver', [2], 'tcp'],
  ] as const)(
    'and goes on before it counts as silent: %s (%j, over %s); nothing is lost',
    async (_who, stopped, transport) => {
      const node = { silenceTimeoutMs: NEVER_MS, ...over(transport) };
      const cluster = await Cluster.start(IDS.length, { node });
      for (const [index, id] of stopped.entries()) {
        // A tenth of a second of messages, at the least: the stop is in the middle of them.
        const running = await startStream(cluster, { ...stream, group: GROUP + index, count: 30 });
        await stop(running, id);
        expect(failuresSeenBy(cluster.members)).toEqual([]);
        cluster.at(id).signal('SIGCONT');
        await expectAllArrived(running);
        expect(failuresSeenBy(cluster.members)).toEqual([]);
      }
      await cluster.leave();
    },
  );

  it.each(TOO_LONG)(
    'for too long: %s (%i, over %s, relays by the %s) is named, and harms nobody when it wakes',
    async (_who, stopped, transport, relay) => {
      // More than a busy machine keeps a process that runs from its processor.
      const silence = { heartbeatMs: 100, silenceTimeoutMs: 12_000 };
      const cluster = await Cluster.start(IDS.length, { node: { ...silence, ...over(transport) } });
      const options = { ...patientGroup, relay };
      const { sends } = await startStream(cluster, { ...stream, options, count: 'endless' });
      cluster.at(stopped).signal('SIGSTOP');
      const others = cluster.except(stopped);
      for (const member of others) {
        await member.event('memberFailed', (event) => event.member === stopped);
        if (member.id !== 0) expectLost((await member.event('end')).error, stopped);
        expectLost((await member.call<Closed>('close', { group: GROUP })).error, stopped);
      }
      expect(failuresSeenBy(others)).toContainEqual(
        expect.objectContaining({ member: stopped, code: 'ERR_RDMC_MESH_MEMBER_SILENT' }),
      );
      // The memory in which the stopped one was writing is used again, while it sleeps and while it wakes.
      const after = { ...stream, group: GROUP + 1, seed: 900, ids: others.map(({ id }) => id), count: 2 };
      const next = await startStream(cluster, { ...after, arrived: 2 });
      await next.sends;
      const receivers = after.ids.slice(1).map((id) => cluster.at(id));
      for (const member of receivers) {
        await member.event('message', ({ group, number }) => group === after.group && number === 1);
      }
      cluster.at(stopped).signal('SIGCONT');
      const evicted = await cluster.at(stopped).event('memberFailed');
      expect(others.map(({ id }) => id)).toContain(evicted.member);
      const { error } = await cluster.at(stopped).call<Closed>('close', { group: GROUP });
      expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST' });
      if (stopped === 0) await sends;
      for (const member of receivers) await expectBothStill(member, after.group);
      for (const member of others.filter(({ id }) => id !== 0)) expectOrderedAndExact(member, GROUP);
      await transferAmong(cluster, after.ids, GROUP + 2);
      await cluster.leave();
    },
  );
});

/** What came before the stopped member woke is the same after it did. */
async function expectBothStill(member: MemberProcess, group: number): Promise<void> {
  const kept = await member.call('verifyKept', { group });
  expect(kept).toEqual([0, 1].map((number) => ({ number, differsAt: -1 })));
}
